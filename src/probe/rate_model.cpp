#include "probe/rate_model.hpp"

#include "simulator/max_min.hpp"

#include <algorithm>
#include <map>

namespace thalweg::probe {
namespace {

using simulator::PortId;

} // namespace

Capacities fastest_flows(const Matrix<Rate>& rates) {
  Capacities result{std::vector<Rate>(rates.size(), Rate(0)), {}};
  result.ingress = result.egress;
  const auto hosts = static_cast<HostId>(rates.size());
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      if (from == to) continue;
      auto &out = result.egress[static_cast<std::size_t>(from)],
           &in = result.ingress[static_cast<std::size_t>(to)];
      out = std::max(out, rates(from, to)), in = std::max(in, rates(from, to));
    }
  return result;
}

RateModel::RateModel(const Bandwidths& bandwidths)
    : RateModel(bandwidths, fastest_flows(bandwidths.rate)) {}

RateModel::RateModel(const Bandwidths& bandwidths, const Capacities& capacities)
    : _bandwidths(bandwidths), _capacities(capacities) {}

std::vector<Rate> RateModel::alone(std::span<const Flow> flows) const {
  std::vector<Rate> rates;
  for (auto [from, to] : flows)
    rates.push_back(_bandwidths.rate(from, to));
  return rates;
}

std::vector<Rate> RateModel::predict(std::span<const Flow> flows, std::span<const Rate> limits,
                                     std::span<const Shared> shared) const {
  std::vector<double> capacities;
  for (const auto& each : shared)
    capacities.push_back(each.capacity.value());
  std::map<HostId, PortId> out, in;
  const auto port = [&](std::map<HostId, PortId>& ports, HostId host, Rate capacity) {
    const auto [found, is_new] = ports.try_emplace(host, static_cast<PortId>(capacities.size()));
    if (is_new) capacities.push_back(capacity.value());
    return found->second;
  };
  std::vector<std::vector<PortId>> paths(flows.size());
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const auto [from, to] = flows[f];
    paths[f] = {port(out, from, _capacities.egress[static_cast<std::size_t>(from)]),
                port(in, to, _capacities.ingress[static_cast<std::size_t>(to)])};
    for (std::size_t s = 0; s < shared.size(); ++s)
      if (shared[s].members[f]) paths[f].push_back(static_cast<PortId>(s));
  }
  simulator::MaxMin sharing(capacities, flows.size());
  for (std::size_t f = 0; f < flows.size(); ++f)
    sharing.add(static_cast<simulator::MaxMin::FlowId>(f), limits[f].value(), paths[f]);
  sharing.solve();
  std::vector<Rate> rates;
  for (std::size_t f = 0; f < flows.size(); ++f)
    rates.emplace_back(sharing.rate(static_cast<simulator::MaxMin::FlowId>(f)));
  return rates;
}

} // namespace thalweg::probe
