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
    const auto skip = slow_start(longest_round_trip(crowd));
    results.push_back(
        {aggregate_rate(std::span(flows).subspan(at, crowd.size()), skip), alone(crowd)});
    at += crowd.size();
  }
  return results;
}

Crowded Crowds::run(const std::vector<Arrow>& crowd) const {
  constexpr double all = 1;
  return run({&crowd, 1}, {&all, 1}).front();
}

Rate Crowds::alone(std::span<const Arrow> flows) const {
  Rate sum(0);
  for (auto [from, to] : flows)
    sum += _bandwidths.rate(from, to);
  return sum;
}

Nanoseconds Crowds::longest_round_trip(const std::vector<Arrow>& crowd) const {
  Nanoseconds longest = 0;
  for (auto [from, to] : crowd)
    longest = std::max(longest, _latencies.round_trip(from, to));
  return longest;
}

void Crowds::append_bursts(const std::vector<Arrow>& crowd, double fair,
                           std::vector<Burst>& bursts) const {
  const double seconds = 1e-9 * static_cast<double>(long_enough_for_crowd(
                                    longest_round_trip(crowd), _coordinator.options.dilation));
  for (auto [from, to] : crowd) {
    const auto pace = pace_for(seconds * fair * _bandwidths.rate(from, to).value(), _eager_limit);
    bursts.push_back({from, to, pace.count, pace.size});
  }
}

} // namespace thalweg::probe
