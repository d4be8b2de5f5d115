/// The tree of a gather that carries ever larger messages over ever better links: ranks near the
/// root in the network are near it in the tree too, and the ranks at one distance divide the ranks
/// at the next distance among themselves. Groups at a distance are split or combined until there is
/// one for each of them.
/// Source: Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in
/// the Cloud, section 4.3, algorithm 4; docs/decisions/0019-trees-of-the-papers.md says how it is
/// read. A flat group becomes one subtree, so that its root has a single child: a weakness of the
/// algorithm, not of the reading.
#include "algorithms/segments.hpp"
#include "algorithms/trees/rank_hierarchy.hpp"
#include "algorithms/trees/tree.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <tuple>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;

/// Builds the tree as the procedure Construct does.
class Construction {
public:
  Construction(const RankHierarchy& hierarchy, Rank ranks, Rank root)
      : parents(index(ranks), no_rank), _hierarchy(hierarchy) {
    order.push_back(root);
    construct(root, add(hierarchy.top()));
  }

  std::vector<Rank> order, parents;

private:
  using SubtreeId = std::size_t;
  /// A group that is attached as a whole: one of the hierarchy, or made by splitting and combining.
  struct Subtree {
    std::vector<Rank> ranks;      ///< ascending
    std::vector<SubtreeId> parts; ///< none: a single rank
  };

  SubtreeId add(const RankGroup& group) {
    std::vector<SubtreeId> parts;
    for (const RankGroup& part : group.parts)
      parts.push_back(add(part));
    return add(group.ranks, std::move(parts));
  }
  SubtreeId add(std::vector<Rank> ranks, std::vector<SubtreeId> parts) {
    _subtrees.push_back({std::move(ranks), std::move(parts)});
    return _subtrees.size() - 1;
  }
  [[nodiscard]] std::size_t size(SubtreeId subtree) const {
    return _subtrees[subtree].ranks.size();
  }
  [[nodiscard]] bool contains(SubtreeId subtree, Rank rank) const {
    return std::ranges::binary_search(_subtrees[subtree].ranks, rank);
  }

  /// Attaches the ranks of a subtree below `top`, which is one of them and joined last.
  void construct(Rank top, SubtreeId whole) {
    const auto begin = static_cast<std::ptrdiff_t>(order.size()) - 1;
    std::vector<SubtreeId> path; // from the whole to `top` alone
    for (SubtreeId at = whole; !_subtrees[at].parts.empty();) {
      path.push_back(at);
      at = *std::ranges::find_if(_subtrees[at].parts,
                                 [&](SubtreeId part) { return contains(part, top); });
    }
    for (std::size_t distance = path.size(); distance-- > 0;) {
      const std::vector<Rank> up(order.begin() + begin, order.end());
      std::vector<SubtreeId> down = _subtrees[path[distance]].parts;
      std::erase_if(down, [&](SubtreeId part) { return contains(part, top); });
      down = match(std::move(down), up.size());
      for (std::size_t i = 0; i < down.size(); ++i)
        attach(up[i], down[i]);
    }
  }

  void attach(Rank upper, SubtreeId subtree) {
    const std::vector<Rank>& ranks = _subtrees[subtree].ranks;
    const Rank best = *std::ranges::min_element(
        ranks, {}, [&](Rank rank) { return std::tuple(_hierarchy.cost_below(upper, rank), rank); });
    parents[index(best)] = upper;
    order.push_back(best);
    construct(best, subtree);
  }

  /// Splits subtrees until there are `count`, or nothing is left to split.
  std::vector<SubtreeId> match(std::vector<SubtreeId> subtrees, std::size_t count) {
    if (subtrees.size() > count) return combine(subtrees, count);
    while (!subtrees.empty() && subtrees.size() < count) {
      // The last one of the largest.
      const auto largest = std::prev(
          std::max_element(subtrees.rbegin(), subtrees.rend(), [&](SubtreeId a, SubtreeId b) {
            return size(a) < size(b);
          }).base());
      if (size(*largest) == 1) break;
      const std::vector<SubtreeId> parts = _subtrees[*largest].parts;
      const std::vector<SubtreeId> halves = combine(parts, 2);
      *largest = halves[1];
      subtrees.insert(largest, halves[0]);
    }
    return subtrees;
  }

  /// Combines the two smallest repeatedly until `count` are left.
  std::vector<SubtreeId> combine(const std::vector<SubtreeId>& subtrees, std::size_t count) {
    using Entry = std::tuple<std::size_t, std::size_t, SubtreeId>; // size, order of creation
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::size_t came = 0;
    for (const SubtreeId subtree : subtrees)
      queue.emplace(size(subtree), came++, subtree);
    const auto pop = [&] {
      const Entry entry = queue.top();
      queue.pop();
      return entry;
    };
    while (queue.size() > count) {
      const SubtreeId a = std::get<2>(pop()), b = std::get<2>(pop());
      std::vector<Rank> ranks;
      std::ranges::merge(_subtrees[a].ranks, _subtrees[b].ranks, std::back_inserter(ranks));
      const SubtreeId both = add(std::move(ranks), {a, b});
      queue.emplace(size(both), came++, both);
    }
    std::vector<std::pair<std::size_t, SubtreeId>> left;
    while (!queue.empty()) {
      const auto [ranks, when, subtree] = pop();
      left.emplace_back(when, subtree);
    }
    std::ranges::sort(left);
    std::vector<SubtreeId> result;
    for (const auto& [when, subtree] : left)
      result.push_back(subtree);
    return result;
  }

  const RankHierarchy& _hierarchy;
  std::vector<Subtree> _subtrees;
};

class DistanceTree final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "distance-tree"; }
  [[nodiscard]] std::string_view source() const override {
    return "Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in "
           "the Cloud, section 4.3, algorithm 4";
  }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override {
    return ranks <= most_quick_hierarchy;
  }

  [[nodiscard]] std::vector<Parameters> candidates(const Problem& /*problem*/) const override {
    return {{}, {.window = schedule::usual_window}};
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const RankHierarchy hierarchy(problem, hierarchy_options(problem, parameters));
    Construction made(hierarchy, problem.collective.ranks, natural_root(problem));
    Skeleton skeleton = tree(problem, parameters, std::move(made.order), std::move(made.parents));
    skeleton.window = one_at_a_time(parameters); // as in MPICH2's gather and scatter
    return skeleton;
  }
};

} // namespace

const Algorithm& distance_tree() {
  static const DistanceTree algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
