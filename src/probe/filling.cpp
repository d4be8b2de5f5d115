#include "probe/filling.hpp"

#include "probe/shifts.hpp"

#include <algorithm>
#include <cmath>

namespace thalweg::probe {
namespace {

/// Flows that get less than this fraction of their rates alone fill a trunk.
constexpr double nearly_all = 0.97;
constexpr double nearly_as_fast = 0.9;
/// Senders that get this fraction of a trunk's capacity are enough: both are a few percent off.
constexpr double enough = 0.92;
/// How often a number of senders is tried.
constexpr int most_attempts = 3;

} // namespace

Filling::Filling(Evidence& evidence, std::size_t passage)
    : _evidence(evidence), _index(passage), _passage(evidence.passages[passage]),
      _crowd(spread(_passage.crowd)) {
  // Flows that are slow alone come last: they may have been slowed by something else.
  const auto alone = evidence.model().alone(_crowd);
  const Rate least = *std::ranges::max_element(alone) * nearly_as_fast;
  std::ranges::stable_partition(_crowd, [&](Arrow flow) {
    return evidence.model().alone({&flow, 1}).front() >= least;
  });
}

void Filling::find() {
  const auto most = _crowd.size();
  const double fill = _passage.capacity * static_cast<double>(most) / without(most);
  auto n = std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(fill)), 1, most);
  while (n < most && !fills(n))
    ++n;
  while (n > 1 && fills(n - 1))
    --n;
  const Rate fewer = n > 1 ? rate(n - 1) : Rate(0);
  _passage.capacity = std::max(rate(n), fewer);
  _passage.senders = static_cast<std::int32_t>(fewer >= _passage.capacity * enough ? n - 1 : n);
}

bool Filling::fills(std::size_t n) { return rate(n) < without(n) * nearly_all; }

Rate Filling::rate(std::size_t n) {
  const auto [known, is_new] = _known.try_emplace(n);
  if (!is_new) return known->second;
  const std::vector<Arrow> some(first(n).begin(), first(n).end());
  // A flow that was measured alone and fills the trunk is known. One that doesn't may have been
  // slowed by something else.
  const auto& alone = _evidence.crowds().bandwidths();
  const auto [from, to] = some.front();
  const bool is_known =
      n == 1 && alone.measured(from, to) && alone.rate(from, to) >= _passage.capacity * nearly_all;
  const Rate expected = std::min(without(n), _passage.capacity);
  Rate best(0);
  // A lost segment at the wrong time reduces the rate, hardly ever increases it.
  for (int attempt = 0; attempt < most_attempts && best < expected * nearly_all; ++attempt)
    if (!is_known && _evidence.has_time())
      best = std::max(best, _evidence.crowds().run(some).together);
  return known->second = best > Rate(0) ? best : expected;
}

} // namespace thalweg::probe
