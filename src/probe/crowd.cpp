#include "probe/crowd.hpp"

#include <algorithm>

namespace thalweg::probe {

std::vector<Crowded> Crowds::run(std::span<const std::vector<Arrow>> crowds,
                                 std::span<const double> fair) const {
  std::vector<Burst> bursts;
  for (std::size_t c = 0; c < crowds.size(); ++c)
    append_bursts(crowds[c], fair[c], bursts);
  const auto flows = transfer_all(_coordinator, bursts, 0, "measuring capacities");
  std::vector<Crowded> results;
  std::size_t at = 0;
  for (const auto& crowd : crowds) {
    Crowded result{aggregate_rate(std::span(flows).subspan(at, crowd.size())), Rate(0)};
    at += crowd.size();
    for (auto [from, to] : crowd)
      result.alone += _bandwidths.rate(from, to);
    results.push_back(result);
  }
  return results;
}

Crowded Crowds::run(const std::vector<Arrow>& crowd) const {
  constexpr double all = 1;
  return run({&crowd, 1}, {&all, 1}).front();
}

void Crowds::append_bursts(const std::vector<Arrow>& crowd, double fair,
                           std::vector<Burst>& bursts) const {
  Nanoseconds round_trip = 0;
  for (auto [from, to] : crowd)
    round_trip = std::max(round_trip, _latencies.round_trip(from, to));
  const double seconds =
      1e-9 * static_cast<double>(long_enough_for_crowd(round_trip, _coordinator.options.dilation));
  for (auto [from, to] : crowd) {
    const auto pace = pace_for(seconds * fair * _bandwidths.rate(from, to).value(), _eager_limit);
    bursts.push_back({from, to, pace.count, pace.size});
  }
}

} // namespace thalweg::probe
