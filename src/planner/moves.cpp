#include "planner/moves.hpp"

#include "algorithms/trees/tree.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace thalweg::planner {

namespace {

using algorithms::most_children;
using collective::Kind;
using collective::no_rank;

/// Segments don't get smaller than this, and chunks' weights aren't shifted among more chunks.
constexpr Size least_segment = 256;
constexpr std::size_t most_weights = 64;
/// The initial weight if weights are equal; a shift moves up to an eighth of it.
constexpr std::int32_t unit_weight = 840;

/// Returns which ranks are a rank or its descendants, by rank.
std::vector<char> subtree(const Skeleton& skeleton, Rank top) {
  std::vector<char> inside(index(skeleton.ranks));
  inside[index(top)] = 1;
  for (const Rank rank : skeleton.order) {
    const Rank parent = skeleton.parents.front()[index(rank)];
    if (parent != no_rank && inside[index(parent)]) inside[index(rank)] = 1;
  }
  return inside;
}

bool takes_any_tree(const Skeleton& skeleton) {
  return algorithms::find(skeleton.algorithm).takes_any_tree();
}

} // namespace

bool is_joined_tree(const Skeleton& skeleton) {
  if (skeleton.parents.size() != 1 || skeleton.order.size() != index(skeleton.ranks)) return false;
  std::vector<char> joined(index(skeleton.ranks));
  for (const Rank rank : skeleton.order) {
    const Rank parent = skeleton.parents.front()[index(rank)];
    if (rank == skeleton.order.front() ? parent != no_rank
                                       : parent == no_rank || !joined[index(parent)])
      return false;
    joined[index(rank)] = 1;
  }
  return true;
}

std::optional<Skeleton> Moves::draw(const Skeleton& skeleton, std::span<const Time> exits) {
  _exits = exits;
  // Moves of trees appear three times: trees have the most choices.
  static constexpr std::array<Move, 12> moves = {&Moves::reparent,
                                                 &Moves::reparent,
                                                 &Moves::reparent,
                                                 &Moves::swap,
                                                 &Moves::swap,
                                                 &Moves::swap,
                                                 &Moves::reorder,
                                                 &Moves::resize_segments,
                                                 &Moves::resize_segments,
                                                 &Moves::shift_weight,
                                                 &Moves::change_senders,
                                                 &Moves::change_window};
  Skeleton changed = skeleton;
  const Move move = moves[below(moves.size())];
  if (!(this->*move)(changed) || changed == skeleton) return std::nullopt;
  return changed;
}

std::size_t Moves::below(std::size_t end) { return static_cast<std::size_t>(_random() % end); }

/// Half of the time draws the rank that is done last among a few.
Rank Moves::draw_late(Rank ranks) {
  Rank rank = draw_rank(ranks);
  if (_exits.size() != index(ranks) || below(2) == 0) return rank;
  for (int more = 0; more < 3; ++more)
    if (const Rank other = draw_rank(ranks); _exits[index(other)] > _exits[index(rank)])
      rank = other;
  return rank;
}

/// Draws the nearest rank of a few.
Rank Moves::draw_parent(const Skeleton& skeleton, Rank child) {
  const auto time = [&](Rank parent) {
    return _problem.network.transfer_time(_problem.placement[index(parent)],
                                          _problem.placement[index(child)],
                                          std::max<Size>(1, _problem.collective.size));
  };
  Rank parent = draw_rank(skeleton.ranks);
  for (std::size_t more = below(4); more > 0; --more)
    if (const Rank other = draw_rank(skeleton.ranks); time(other) < time(parent)) parent = other;
  return parent;
}

bool Moves::reparent(Skeleton& skeleton) {
  if (!takes_any_tree(skeleton)) return false;
  if (skeleton.parents.size() > 1) return reparent_packed(skeleton);
  if (!is_joined_tree(skeleton)) return false;
  const Rank child = draw_late(skeleton.ranks), parent = draw_parent(skeleton, child);
  std::vector<Rank>& parents = skeleton.parents.front();
  const std::vector<char> moved = subtree(skeleton, child);
  if (parents[index(child)] == no_rank || moved[index(parent)]) return false;
  const bool was_densest = skeleton.period == most_children(parents);
  parents[index(child)] = parent;
  join(skeleton.order, moved, parent, below(2) == 0);
  if (was_densest) skeleton.period = most_children(parents);
  return true;
}

/// Changes a parent in one of several trees, none of which is in the order of `order`.
bool Moves::reparent_packed(Skeleton& skeleton) {
  const Rank child = draw_late(skeleton.ranks), parent = draw_parent(skeleton, child);
  std::vector<Rank>& parents = skeleton.parents[below(skeleton.parents.size())];
  if (parents[index(child)] == no_rank) return false;
  for (Rank at = parent; at != no_rank; at = parents[index(at)])
    if (at == child) return false;
  parents[index(child)] = parent;
  return true;
}

bool Moves::reorder(Skeleton& skeleton) {
  if (!takes_any_tree(skeleton) || !is_joined_tree(skeleton)) return false;
  const Rank child = draw_late(skeleton.ranks);
  const Rank parent = skeleton.parents.front()[index(child)];
  if (parent == no_rank) return false;
  join(skeleton.order, subtree(skeleton, child), parent, false);
  return true;
}

/// Moves the ranks of a subtree to the position after the parent, or to one farther on.
void Moves::join(std::vector<Rank>& order, const std::vector<char>& moved, Rank parent,
                 bool at_once) {
  std::vector<Rank> subtree, others;
  for (const Rank rank : order)
    (moved[index(rank)] != 0 ? subtree : others).push_back(rank);
  auto at = std::ranges::find(others, parent) + 1;
  if (!at_once)
    at += static_cast<std::ptrdiff_t>(below(static_cast<std::size_t>(others.end() - at) + 1));
  others.insert(at, subtree.begin(), subtree.end());
  order = std::move(others);
}

/// Whether a rank's number matters to the schedule, so that no other rank can replace it.
bool Moves::is_fixed(const Skeleton& skeleton, Rank rank) const {
  const Kind kind = _problem.collective.kind;
  return collective::is_prefix(kind) || (collective::is_rooted(kind) && rank == skeleton.root);
}

bool Moves::swap(Skeleton& skeleton) {
  const Rank a = draw_late(skeleton.ranks), b = draw_rank(skeleton.ranks);
  if (a == b || is_fixed(skeleton, a) || is_fixed(skeleton, b)) return false;
  const auto renamed = [&](Rank rank) { return rank == a ? b : rank == b ? a : rank; };
  for (Rank& rank : skeleton.order)
    rank = renamed(rank);
  for (auto& tree : skeleton.parents) {
    std::swap(tree[index(a)], tree[index(b)]);
    for (Rank& parent : tree)
      if (parent != no_rank) parent = renamed(parent);
  }
  for (std::size_t tree = 0; tree < skeleton.delays.size(); tree += index(skeleton.ranks))
    std::swap(skeleton.delays[tree + index(a)], skeleton.delays[tree + index(b)]);
  return true;
}

bool Moves::resize_segments(Skeleton& skeleton) {
  const Size size = _problem.collective.size;
  if (skeleton.segment_size == 0) {
    skeleton.segment_size = size / static_cast<Size>(2 + below(31));
  } else {
    constexpr std::array<std::pair<Size, Size>, 6> factors = {
        {{1, 2}, {2, 3}, {4, 5}, {5, 4}, {3, 2}, {2, 1}}};
    const auto [times, over] = factors[below(factors.size())];
    skeleton.segment_size = skeleton.segment_size * times / over;
  }
  if (skeleton.segment_size < least_segment) return false;
  if (skeleton.segment_size >= size) skeleton.segment_size = 0;
  return true;
}

bool Moves::shift_weight(Skeleton& skeleton) {
  auto& weights = skeleton.weights;
  if (weights.empty()) {
    const auto parts = static_cast<std::size_t>(skeleton.chunks / _problem.collective.blocks());
    if (parts < 2 || parts > most_weights) return false;
    weights.assign(parts, unit_weight);
  }
  if (weights.size() < 2) return false;
  std::int32_t &from = weights[below(weights.size())], &to = weights[below(weights.size())];
  const auto shift = static_cast<std::int32_t>(below(index(std::max(8, from)) / 8) + 1);
  if (from < shift || to > (1 << 24)) return false;
  from -= shift;
  to += shift;
  return true;
}

bool Moves::change_senders(Skeleton& skeleton) {
  const std::size_t sites = skeleton.site_begins.size();
  if (sites < 2) return false;
  std::size_t at = below(sites);
  if (skeleton.senders.size() > sites) { // by pair, else by group
    const std::size_t to = below(sites);
    if (at == to) return false; // That entry is the number of owners.
    at = at * sites + to;
  }
  Rank& senders = skeleton.senders[at];
  senders += below(2) == 0 ? 1 : -1;
  return senders >= 1 && senders <= skeleton.ranks;
}

bool Moves::change_window(Skeleton& skeleton) {
  if (skeleton.window > schedule::usual_window)
    skeleton.window = below(2) == 0 ? skeleton.window / 2
                                    : std::min(2 * skeleton.window, schedule::widest_window);
  else
    skeleton.window = skeleton.window == 0 ? static_cast<std::int32_t>(1 + below(3)) : 0;
  return true;
}

} // namespace thalweg::planner
