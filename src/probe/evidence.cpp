#include "probe/evidence.hpp"

#include <numeric>

namespace thalweg::probe {

Rate sum(std::span<const Rate> rates) {
  return std::accumulate(rates.begin(), rates.end(), Rate(0));
}

Rate carried(const FilledTrunk& trunk, const Observation& seen) {
  Rate total(0);
  for (std::size_t f = 0; f < seen.flows.size(); ++f)
    if (trunk.carries(seen.flows[f])) total += seen.each[f];
  return total;
}

Rate Observation::total() const { return sum(each); }

Observation Evidence::run(const std::vector<Flow>& flows) {
  return std::move(run(std::vector<std::vector<Flow>>{flows}).front());
}

std::vector<Observation> Evidence::run(const std::vector<std::vector<Flow>>& crowds) {
  Observation all;
  for (const auto& crowd : crowds)
    all.flows.insert(all.flows.end(), crowd.begin(), crowd.end());
  const auto rates = _crowds.run(crowds);
  std::vector<Observation> result;
  for (std::size_t c = 0; c < crowds.size(); ++c) {
    result.push_back({crowds[c], rates[c].each});
    all.each.insert(all.each.end(), rates[c].each.begin(), rates[c].each.end());
  }
  _observations.push_back(std::move(all));
  return result;
}

std::vector<Shared> Evidence::shared(std::span<const Flow> flows,
                                     std::optional<std::size_t> without) const {
  std::vector<Shared> result;
  for (std::size_t t = 0; t < trunks.size(); ++t) {
    if (t == without) continue;
    Shared each{std::vector<bool>(flows.size()), trunks[t].capacity};
    bool is_used = false;
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (trunks[t].carries(flows[f])) each.members[f] = is_used = true;
    if (is_used) result.push_back(std::move(each));
  }
  return result;
}

std::vector<Rate> Evidence::predict(std::span<const Flow> flows) const {
  return _model.predict(flows, _model.alone(flows), shared(flows));
}

std::vector<Rate> Evidence::predict(std::span<const Flow> flows, std::span<const Rate> limits,
                                    Shared more) const {
  auto all = shared(flows);
  all.push_back(std::move(more));
  return _model.predict(flows, limits, all);
}

Rate Evidence::predict_without(std::span<const Flow> flows, std::size_t trunk) const {
  return sum(_model.predict(flows, _model.alone(flows), shared(flows, trunk)));
}

} // namespace thalweg::probe
