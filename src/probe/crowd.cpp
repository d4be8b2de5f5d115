#include "probe/crowd.hpp"

#include <algorithm>

namespace thalweg::probe {

std::vector<Crowded> Crowds::run(std::span<const std::vector<Arrow>> crowds) const {
  std::vector<Burst> bursts;
  for (const auto& crowd : crowds)
    append_bursts(crowd, bursts);
  const auto flows = _prober.transfer(bursts, _what);
  std::vector<Crowded> results;
  std::size_t at = 0;
  for (const auto& crowd : crowds) {
    const auto own = std::span(flows).subspan(at, crowd.size());
    results.push_back(crowd_rates(own, slow_start(longest_round_trip(crowd))));
    at += crowd.size();
  }
  return results;
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

void Crowds::append_bursts(const std::vector<Arrow>& crowd, std::vector<Burst>& bursts) const {
  constexpr Size pieces = 128; // so that a flow with a small share has enough messages, too
  const auto limit = long_enough_for_crowd(longest_round_trip(crowd), _prober.dilation());
  for (auto [from, to] : crowd) {
    const double bytes = 1e-9 * static_cast<double>(limit) * _bandwidths.rate(from, to).value();
    const auto pace = pace_for(bytes, _eager_limit, pieces);
    bursts.push_back({from, to, pace.count, pace.size, limit});
  }
}

} // namespace thalweg::probe
