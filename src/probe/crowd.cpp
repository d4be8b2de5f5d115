#include "probe/crowd.hpp"

#include <algorithm>

namespace thalweg::probe {
namespace {

/// TCP begins with a window of ten segments, of 1.4 KB on most networks, and doubles it with each
/// round trip: 1 Gbit/s with a round trip of 100 ms take ten. A crowd whose rate grows by more than
/// this factor from one half of its time to the other is run once more, twice as long and at once,
/// so that its connections keep their windows.
constexpr double still_starting = 1.25;
constexpr int most_doublings = 3;
/// Where there is no time for that, what a crowd carries isn't known if it grew by more than this.
constexpr double surely_starting = 1.5;

} // namespace

std::vector<Crowded> Crowds::run(std::span<const std::vector<Flow>> crowds) const {
  Nanoseconds longest = 0;
  for (const auto& crowd : crowds)
    longest = std::max(longest, longest_round_trip(crowd));
  const Nanoseconds usual = long_enough_for_crowd(longest, _prober.dilation());
  for (int doublings = 0;; ++doublings) {
    std::vector<Crowded> results = run_for(crowds, usual << doublings);
    const auto starts = [](const Crowded& crowd) { return crowd.growth > still_starting; };
    const auto next = usual << (doublings + 1);
    if (doublings < most_doublings && std::ranges::any_of(results, starts) &&
        _prober.clock() + next < _prober.deadline(1))
      continue;
    for (Crowded& crowd : results)
      if (crowd.growth > surely_starting) crowd.together = Rate(0);
    return results;
  }
}

std::vector<Crowded> Crowds::run_for(std::span<const std::vector<Flow>> crowds,
                                     Nanoseconds limit) const {
  std::vector<Burst> bursts;
  for (const auto& crowd : crowds)
    append_bursts(crowd, limit, bursts);
  const auto received = _prober.transfer(bursts, _what);
  std::vector<Crowded> results;
  std::size_t at = 0;
  for (const auto& crowd : crowds) {
    const auto own = std::span(received).subspan(at, crowd.size());
    results.push_back(crowd_rates(own, slow_start(longest_round_trip(crowd))));
    at += crowd.size();
  }
  return results;
}

Rate Crowds::alone(std::span<const Flow> flows) const {
  Rate sum(0);
  for (auto [from, to] : flows)
    sum += _bandwidths.rate(from, to);
  return sum;
}

Nanoseconds Crowds::longest_round_trip(const std::vector<Flow>& crowd) const {
  Nanoseconds longest = 0;
  for (auto [from, to] : crowd)
    longest = std::max(longest, _latencies.round_trip(from, to));
  return longest;
}

void Crowds::append_bursts(const std::vector<Flow>& crowd, Nanoseconds limit,
                           std::vector<Burst>& bursts) const {
  constexpr Size pieces = 128; // so that a flow with a small share has enough messages, too
  for (auto [from, to] : crowd) {
    const double bytes = 1e-9 * static_cast<double>(limit) * _bandwidths.rate(from, to).value();
    const auto pace = pace_for(bytes, _eager_limit, pieces);
    bursts.push_back({from, to, pace.count, pace.size, limit});
  }
}

} // namespace thalweg::probe
