#include "probe/filling.hpp"

#include "probe/shifts.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <map>

namespace thalweg::probe {
namespace {

/// Flows that get less than this fraction of their rates alone fill a trunk.
constexpr double nearly_alone = 0.97;
constexpr double nearly_as_fast = 0.9;
/// Senders that get this fraction of a trunk's capacity are enough: both are a few percent off.
constexpr double enough = 0.92;
/// How often a number of senders is tried.
constexpr int most_attempts = 3;

/// How many flows fill one trunk.
class Filling {
public:
  /// @param index in the evidence's trunks
  Filling(Evidence& evidence, std::size_t index)
      : _evidence(evidence), _index(index), _trunk(evidence.trunks[index]),
        _crowd(spread(_trunk.crowd)) {
    // Flows that are slow alone come last: they may have been slowed by something else.
    const auto alone = evidence.model().alone(_crowd);
    const Rate least = *std::ranges::max_element(alone) * nearly_as_fast;
    std::stable_partition(_crowd.begin(), _crowd.end(), [&](Flow flow) {
      return evidence.model().alone({&flow, 1}).front() >= least;
    });
  }

  /// Returns the flows whose rate together must be known next; none if all is known.
  [[nodiscard]] std::vector<Flow> next() {
    _wanted = 0;
    _result = find();
    return {_crowd.begin(), _crowd.begin() + static_cast<std::ptrdiff_t>(_wanted)};
  }
  /// Records the rate of those flows.
  void add(Rate together) {
    auto& trial = _trials[_wanted];
    // A lost segment at the wrong time reduces the rate, hardly ever increases it.
    trial.best = std::max(trial.best, together);
    ++trial.attempts;
  }
  /// Records in the trunk what was found.
  void finish() {
    _trunk.capacity = _result.capacity;
    _trunk.senders = static_cast<std::int32_t>(_result.senders);
  }
  /// Whether flows take part of what fills the trunk, or their acknowledgements wait there.
  [[nodiscard]] bool is_disturbed_by(const std::vector<Flow>& flows) const {
    return std::ranges::any_of(flows, [&](Flow flow) {
      return _trunk.carries(flow) || _trunk.carries({flow.to, flow.from});
    });
  }

private:
  struct Trial {
    Rate best{0};
    int attempts = 0;
  };
  struct Found {
    Rate capacity;
    std::size_t senders = 0;
  };
  [[nodiscard]] std::span<const Flow> first(std::size_t n) const {
    return std::span(_crowd).first(n);
  }
  /// Returns the sum of the rates of the first n flows if the trunk didn't limit them.
  [[nodiscard]] Rate without(std::size_t n) const {
    return _evidence.predict_without(first(n), _index);
  }
  [[nodiscard]] Found find();
  [[nodiscard]] Rate rate(std::size_t n);
  [[nodiscard]] bool is_known_alone() const;
  [[nodiscard]] bool fills(std::size_t n) { return rate(n) < without(n) * nearly_alone; }

  Evidence& _evidence;
  std::size_t _index;
  FilledTrunk& _trunk;
  std::vector<Flow> _crowd; ///< in the order in which flows are added
  std::map<std::size_t, Trial> _trials;
  std::size_t _wanted = 0; ///< flows whose rate must be known next
  Found _result;
};

Filling::Found Filling::find() {
  const auto most = _crowd.size();
  const double fill = _trunk.capacity * static_cast<double>(most) / without(most);
  auto n = std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(fill)), 1, most);
  while (n < most && !fills(n))
    ++n;
  // Flows that alone would get no more than what it has carried don't fill it.
  while (n > 1 && without(n - 1) > rate(n) && fills(n - 1))
    --n;
  const Rate capacity = rate(n);
  return {capacity, n > 1 && without(n - 1) >= capacity * enough ? n - 1 : n};
}

/// Whether the first flow was measured alone and fills the trunk. One that doesn't may have been
/// slowed by something else.
bool Filling::is_known_alone() const {
  const auto& alone = _evidence.crowds().bandwidths();
  const auto [from, to] = _crowd.front();
  return alone.measured(from, to) && alone.rate(from, to) >= _trunk.capacity * nearly_alone;
}

/// Returns the rate of the first n flows together: as measured, else as expected.
Rate Filling::rate(std::size_t n) {
  const Rate expected = std::min(without(n), _trunk.capacity);
  const auto& [best, attempts] = _trials[n];
  const bool is_known = attempts == most_attempts || best >= expected * nearly_alone ||
                        (n == 1 && is_known_alone()) || !_evidence.has_time();
  if (!is_known && _wanted == 0) _wanted = n;
  return best > Rate(0) ? best : expected;
}

using Crowd = std::vector<Flow>;

/// Whether flows of several crowds get as much at the same time as those of each crowd by itself.
bool are_independent(const Evidence& evidence, const std::vector<Crowd>& crowds) {
  Crowd all;
  for (const auto& crowd : crowds)
    all.insert(all.end(), crowd.begin(), crowd.end());
  const auto together = evidence.predict(all);
  auto rates = std::span(together);
  for (const auto& crowd : crowds) {
    if (sum(rates.first(crowd.size())) < sum(evidence.predict(crowd)) * nearly_alone) return false;
    rates = rates.subspan(crowd.size());
  }
  return true;
}

/// Runs the flows that are wanted next of as many trunks as can be filled at the same time.
void run_next(Evidence& evidence, std::list<Filling>& open) {
  std::vector<Crowd> crowds;
  std::vector<Filling*> running;
  for (auto& filling : open) {
    crowds.push_back(filling.next());
    bool fits = true;
    for (std::size_t k = 0; k < running.size(); ++k)
      fits = fits && !filling.is_disturbed_by(crowds[k]) &&
             !running[k]->is_disturbed_by(crowds.back());
    if (fits && are_independent(evidence, crowds))
      running.push_back(&filling);
    else
      crowds.pop_back();
  }
  const auto results = evidence.crowds().run(crowds);
  for (std::size_t k = 0; k < running.size(); ++k)
    running[k]->add(results[k].together);
}

} // namespace

void fill(Evidence& evidence, const std::vector<std::size_t>& which) {
  std::list<Filling> open;
  for (auto index : which)
    open.emplace_back(evidence, index);
  for (;;) {
    std::erase_if(open, [](Filling& filling) {
      const bool is_found = filling.next().empty();
      if (is_found) filling.finish();
      return is_found;
    });
    if (open.empty()) return;
    run_next(evidence, open);
  }
}

} // namespace thalweg::probe
