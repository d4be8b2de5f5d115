#include "mapping/cost.hpp"

#include "mapping/state.hpp"
#include "mapping/streams.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace thalweg::mapping {
namespace {

/// Bytes per second as which slower links count, so that no cost is infinite.
constexpr double least_rate = 1e-6;

double seconds_per_byte(units::Rate rate, Metric metric) {
  return metric == Metric::latency ? 0 : 1 / std::max(rate.value(), least_rate);
}

} // namespace

HostCosts::HostCosts(const Problem& problem, Pairs pairs)
    : _network(&problem.network), _hosts(problem.network.size()), _metric(problem.metric),
      _trunks(problem.network), _tables(tables_for(problem)) {
  const Network& network = problem.network;
  const auto add = [&](units::Rate capacity) {
    _per_byte.push_back(seconds_per_byte(capacity, _metric));
    _has_limits = _has_limits || _per_byte.back() > 0;
  };
  for (const network::Host& host : network.hosts)
    add(host.egress);
  for (const network::Host& host : network.hosts)
    add(host.ingress);
  for (const network::Trunk& trunk : network.trunks)
    add(trunk.capacity);
  if (pairs == Pairs::in_table) fill_table();
}

void HostCosts::fill_table() {
  _pairs = network::Matrix<Pair>(index(_hosts));
  for (HostId from = 0; from < _hosts; ++from)
    for (HostId to = 0; to < _hosts; ++to)
      _pairs(from, to) = from_network(from, to);
  _network = nullptr;
}

HostCosts::Pair HostCosts::from_network(HostId from, HostId to) const {
  if (from == to) return {};
  return {_metric == Metric::bandwidth ? 0 : _network->latency(from, to).value(),
          seconds_per_byte(_network->bandwidth(from, to), _metric)};
}

Cost cost(const Problem& problem, const Placement& placement) {
  const Problem waited = with_waits(problem);
  const HostCosts costs(waited, HostCosts::Pairs::on_demand);
  return State(waited, costs, placement).cost();
}

TrafficSums traffic(const Problem& problem, const Placement& placement) {
  const Network& network = problem.network;
  const network::TrunkSets trunks(network);
  const std::vector<std::int32_t> site_of = network::sites_of_hosts(network, -1);
  const std::size_t hosts = network.hosts.size();
  std::vector<double> bytes(2 * hosts + network.trunks.size());
  TrafficSums sums;
  for (const Traffic& each : problem.communication.entries()) {
    const HostId from = placement[index(each.from)], to = placement[index(each.to)];
    if (from == to) {
      sums.intra_host += each.bytes;
      continue;
    }
    sums.inter_host += each.bytes;
    if (site_of[index(from)] != site_of[index(to)]) sums.inter_site += each.bytes;
    sums.comm_time += Time(each.bytes / network.bandwidth(from, to).value());
    bytes[index(from)] += each.bytes;
    bytes[hosts + index(to)] += each.bytes;
    for (const std::int32_t trunk : trunks.between(from, to))
      bytes[2 * hosts + index(trunk)] += each.bytes;
  }
  const auto capacity = [&](std::size_t at) {
    return at < hosts       ? network.hosts[at].egress
           : at < 2 * hosts ? network.hosts[at - hosts].ingress
                            : network.trunks[at - 2 * hosts].capacity;
  };
  for (std::size_t at = 0; at < bytes.size(); ++at)
    sums.busiest = std::max(sums.busiest, Time(bytes[at] / capacity(at).value()));
  sums.hosts =
      static_cast<std::int32_t>(std::set<HostId>(placement.begin(), placement.end()).size());
  return sums;
}

} // namespace thalweg::mapping
