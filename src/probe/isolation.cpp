#include "probe/isolation.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace thalweg::probe {
namespace {

/// Two parts share something if together they get this much less than each by itself.
constexpr double clearly_less = 0.9;
/// A part that fills what it shares gets at least this fraction of it.
constexpr double nearly_filled = 0.85;

/// Flows, those of each ordered pair of sites together.
using FlowsByPair = std::vector<std::vector<Flow>>;

struct Halves {
  std::vector<Flow> left, right;
};

/// Whether no host is at both ends, as is so where the flows share a link.
bool is_one_way(const std::vector<Flow>& flows) {
  std::set<HostId> senders;
  for (auto flow : flows)
    senders.insert(flow.from);
  return std::ranges::none_of(flows, [&](Flow flow) { return senders.contains(flow.to); });
}

class Isolation {
public:
  Isolation(Evidence& evidence, const SiteOf& site) : _evidence(evidence), _site(site) {}

  std::vector<Observation> divide(const std::vector<Flow>& suspects) {
    auto alone = by_themselves(sorted(suspects));
    std::vector<Observation> open;
    if (is_short(alone)) open.push_back(std::move(alone));
    while (!open.empty() && _evidence.has_time())
      open = halve_all(open);
    confirm();
    return std::move(_done);
  }

private:
  [[nodiscard]] auto place(Flow flow) const { return std::tuple(_site(flow), flow.from, flow.to); }
  [[nodiscard]] std::vector<Flow> sorted(std::vector<Flow> flows) const {
    std::ranges::sort(flows, {}, [&](Flow flow) { return place(flow); });
    return flows;
  }
  /// Returns what flows get while no others run: not all that ran with suspects is suspect.
  [[nodiscard]] Observation by_themselves(const std::vector<Flow>& flows) {
    for (const auto& seen : _evidence.observations())
      if (std::ranges::is_permutation(seen.flows, flows)) return in_order(seen);
    return _evidence.run(flows);
  }
  [[nodiscard]] Observation in_order(const Observation& seen) const;
  [[nodiscard]] Halves halves(const std::vector<Flow>& flows) const;
  /// Halves all parts at once. @return the parts to halve further
  std::vector<Observation> halve_all(const std::vector<Observation>& parts);
  void settle(const Observation& part, const Observation& left, const Observation& right,
              std::vector<Observation>& open);
  void confirm();
  void finish(const Observation& part);
  [[nodiscard]] Rate expected(const Observation& seen) const {
    return sum(_evidence.predict(seen.flows));
  }
  [[nodiscard]] bool is_short(const Observation& seen) const {
    return seen.flows.size() > 1 && seen.total() < expected(seen) * clearly_less;
  }

  Evidence& _evidence;
  const SiteOf& _site;
  std::vector<Observation> _done;
  std::vector<std::vector<Flow>> _unsure;
};

/// Returns the same flows, sorted.
Observation Isolation::in_order(const Observation& seen) const {
  Observation result{sorted(seen.flows), {}};
  for (auto flow : result.flows) {
    const auto at = std::ranges::find(seen.flows, flow) - seen.flows.begin();
    result.each.push_back(seen.each[static_cast<std::size_t>(at)]);
  }
  return result;
}

/// Divides flows where their senders' sites differ, else their receivers', if possible.
Halves Isolation::halves(const std::vector<Flow>& flows) const {
  const auto middle = flows.size() / 2;
  auto best = middle;
  int best_level = 0;
  for (std::size_t at = 1; at < flows.size(); ++at) {
    const auto &before = flows[at - 1], &after = flows[at];
    const int level = _site(before.from) != _site(after.from) ? 2
                      : _site(before.to) != _site(after.to)   ? 1
                                                              : 0;
    const auto distance = [&](std::size_t k) { return k > middle ? k - middle : middle - k; };
    if (level > best_level || (level == best_level && distance(at) < distance(best)))
      best = at, best_level = level;
  }
  const auto cut = flows.begin() + static_cast<std::ptrdiff_t>(best);
  return {{flows.begin(), cut}, {cut, flows.end()}};
}

std::vector<Observation> Isolation::halve_all(const std::vector<Observation>& parts) {
  std::vector<std::vector<Flow>> left, right;
  for (const auto& part : parts) {
    auto both = halves(part.flows);
    left.push_back(std::move(both.left)), right.push_back(std::move(both.right));
  }
  const auto lefts = _evidence.run(left), rights = _evidence.run(right);
  std::vector<Observation> open;
  for (std::size_t p = 0; p < parts.size(); ++p)
    settle(parts[p], lefts[p], rights[p], open);
  return open;
}

void Isolation::settle(const Observation& part, const Observation& left, const Observation& right,
                       std::vector<Observation>& open) {
  const bool share = part.total() < (left.total() + right.total()) * clearly_less;
  if (!share) {
    for (const auto* half : {&left, &right})
      if (is_short(*half)) open.push_back(*half);
    return;
  }
  const auto fills = [&](const Observation& half) {
    return half.total() >= std::min(part.total(), expected(half)) * nearly_filled;
  };
  if (!is_short(left) && !is_short(right))
    _unsure.push_back(part.flows);
  else if (fills(left) && fills(right) && is_one_way(part.flows))
    finish(part);
  else // Something else holds back a half: it is found first, and explains part of the rest.
    open.push_back(left.total() / expected(left) < right.total() / expected(right) ? left : right);
}

/// Makes sure of parts that were slower than their halves: others ran at the same time.
void Isolation::confirm() {
  if (_unsure.empty() || !_evidence.has_time()) return;
  for (auto& again : _evidence.run(_unsure))
    if (is_short(again) && is_one_way(again.flows)) finish(again);
}

/// Records a part, without the flows in it that nothing holds back.
void Isolation::finish(const Observation& part) {
  const auto alone = _evidence.model().alone(part.flows);
  const double clear = (1 + part.total() / expected(part)) / 2;
  Observation slow;
  for (std::size_t f = 0; f < part.flows.size(); ++f)
    if (part.each[f] < alone[f] * clear) {
      slow.flows.push_back(part.flows[f]);
      slow.each.push_back(part.each[f]);
    }
  if (slow.flows.size() > 1) _done.push_back(std::move(slow));
}

/// Looks for flows that hold back others.
class Accomplices {
public:
  Accomplices(Evidence& evidence, const std::vector<Flow>& held)
      : _evidence(evidence), _held(held) {}

  Observation find(FlowsByPair pairs) {
    if (!hold_back(pairs)) return {};
    while (pairs.size() > 1 && _evidence.has_time()) {
      const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>(pairs.size() / 2);
      const FlowsByPair left(pairs.begin(), middle), right(middle, pairs.end());
      if (hold_back(left))
        pairs = left;
      else if (hold_back(right))
        pairs = right;
      else
        break;
    }
    return _seen;
  }

private:
  /// Whether the flows are held back together with these.
  bool hold_back(const FlowsByPair& pairs) {
    auto flows = _held;
    for (const auto& pair : pairs)
      flows.insert(flows.end(), pair.begin(), pair.end());
    auto seen = _evidence.run(flows);
    const auto of = [&](std::span<const Rate> rates) { return sum(rates.first(_held.size())); };
    const bool less = of(seen.each) < of(_evidence.predict(flows)) * clearly_less;
    if (less) _seen = std::move(seen);
    return less;
  }

  Evidence& _evidence;
  const std::vector<Flow>& _held;
  Observation _seen;
};

} // namespace

Observation find_accomplices(Evidence& evidence, const std::vector<Flow>& held,
                             const std::vector<Flow>& others, const SiteOf& site) {
  std::map<SitePair, std::vector<Flow>> by_sites;
  for (auto flow : others)
    by_sites[site(flow)].push_back(flow);
  FlowsByPair pairs;
  for (auto& [ends, flows] : by_sites)
    pairs.push_back(std::move(flows));
  auto found = Accomplices(evidence, held).find(std::move(pairs));
  return is_one_way(found.flows) ? found : Observation{};
}

std::vector<Observation> isolate(Evidence& evidence, const std::vector<Flow>& suspects,
                                 const SiteOf& site) {
  return Isolation(evidence, site).divide(suspects);
}

} // namespace thalweg::probe
