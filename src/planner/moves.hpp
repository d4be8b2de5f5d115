#pragma once

#include "algorithms/algorithm.hpp"
#include "units/units.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <span>

/// Small changes of a skeleton, for a search. Each results in a correct schedule of the same
/// algorithm.
namespace thalweg::planner {

using algorithms::Problem;
using algorithms::Skeleton;
using collective::Rank;
using units::Size;
using units::Time;

/// Draws changes. Deterministic for a seed, on every machine.
class Moves {
public:
  Moves(const Problem& problem, std::uint64_t seed) : _problem(problem), _random(seed) {}

  /// Draws one of these changes, where the skeleton allows it:
  /// - another parent for a rank, with all of its subtree;
  /// - another position among its parent's children;
  /// - an exchange of two ranks, and so perhaps of a leader or gateway;
  /// - another segment size;
  /// - a shift of weight between two trees or chunks;
  /// - one sender more or less between two sites;
  /// - few messages in flight, or the usual number; of many, more or fewer.
  /// Returns none if the drawn change is impossible.
  /// @param exits when each rank was done: the last ones are moved more often
  std::optional<Skeleton> draw(const Skeleton& skeleton, std::span<const Time> exits);

private:
  using Move = bool (Moves::*)(Skeleton&);
  bool reparent(Skeleton& skeleton);
  bool reparent_packed(Skeleton& skeleton);
  bool reorder(Skeleton& skeleton);
  void join(std::vector<Rank>& order, const std::vector<char>& moved, Rank parent, bool at_once);
  bool swap(Skeleton& skeleton);
  bool resize_segments(Skeleton& skeleton);
  bool shift_weight(Skeleton& skeleton);
  bool change_senders(Skeleton& skeleton);
  bool change_window(Skeleton& skeleton);

  std::size_t below(std::size_t end);
  Rank draw_rank(Rank ranks) { return static_cast<Rank>(below(static_cast<std::size_t>(ranks))); }
  Rank draw_late(Rank ranks);
  Rank draw_parent(const Skeleton& skeleton, Rank child);
  [[nodiscard]] bool is_fixed(const Skeleton& skeleton, Rank rank) const;

  const Problem& _problem;
  std::span<const Time> _exits;
  std::mt19937_64 _random;
};

/// Whether `order` lists the ranks as they join the skeleton's only tree: each after its parent.
bool is_joined_tree(const Skeleton& skeleton);

} // namespace thalweg::planner
