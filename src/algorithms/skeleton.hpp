#pragma once

#include "algorithms/parameters.hpp"
#include "schedule/schedule.hpp"

#include <initializer_list>
#include <string>
#include <vector>

namespace thalweg::algorithms {

using collective::ChunkId;

/// The longest delay of a link, in steps.
inline constexpr schedule::Step longest_delay = 1'000'000;

/// The decisions of an algorithm: O(ranks × trees) integers, which are stored, shared and drawn. A
/// new field is added to the table below, and the algorithm that uses it checks it in
/// Algorithm::check().
struct Skeleton {
  std::string algorithm; ///< Algorithm::name()
  Rank ranks = 1, root = 0;
  ChunkId chunks = 1;    ///< of one segment
  Size segment_size = 0; ///< bytes; 0: one segment for any size
  schedule::Step period = 1;
  std::int32_t window = 0; ///< messages in flight, as schedule::Pipeline::window
  /// Position -> rank, for a ring or hypercube; or the ranks as they join a tree, root first.
  std::vector<Rank> order;
  std::vector<std::vector<Rank>> parents; ///< per tree: rank -> parent, no_rank at its root
  /// By tree, then rank: the steps by which the link to the rank's parent is slow; empty: none.
  /// For groups: by rank, all alike, the steps that results wait for contributions.
  std::vector<schedule::Step> delays;
  std::vector<std::int32_t> weights; ///< by chunk; empty: equal
  /// For an algorithm that uses sites or groups: the positions of `order` at which they begin, and
  /// how many ranks of a site send to another, by (from, to), or of a group to all others, by
  /// group.
  std::vector<Rank> site_begins, senders;
  Inside inside = Inside::ring; ///< for an algorithm that uses sites
  /// For rounds in their own order: how many positions further on in `order` ranks send in each
  /// round. Empty, or each of 1 ... ranks - 1 once.
  std::vector<Rank> distances;
  /// For "listed" only: all transfers of one segment, as algorithms/listed.hpp lays them out.
  std::vector<std::int64_t> transfers;
  bool operator==(const Skeleton&) const = default;

  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("algorithm", &Skeleton::algorithm),
                      Field("ranks", &Skeleton::ranks, 1),
                      Field("root", &Skeleton::root, 0),
                      Field("chunks", &Skeleton::chunks, 1),
                      Field("segment_size", &Skeleton::segment_size, 0),
                      Field("period", &Skeleton::period, 1, schedule::last_step),
                      Field("window", &Skeleton::window, 0),
                      Field("order", &Skeleton::order, 0),
                      Field("parents", &Skeleton::parents, collective::no_rank),
                      Field("delays", &Skeleton::delays, 0, longest_delay),
                      Field("weights", &Skeleton::weights, 0),
                      Field("site_begins", &Skeleton::site_begins, 0),
                      Field("senders", &Skeleton::senders, 1),
                      Field("inside", &Skeleton::inside),
                      Field("distances", &Skeleton::distances, 1),
                      Field("transfers", &Skeleton::transfers)};
  }

  /// Returns the segments that `size` bytes are cut into: at least one, none empty if size > 0.
  [[nodiscard]] schedule::Pipeline pipeline(Size size) const;
};

// Checks of skeletons' parts. They throw std::invalid_argument naming the error.

/// Checks that all lists but those named are empty. Weights are always allowed.
void check_lists(const Skeleton& skeleton, std::initializer_list<std::string_view> used);
/// Checks that each number from `first` up to below `end` occurs once.
void check_permutation(std::span<const Rank> numbers, Rank first, Rank end);
/// Checks that `order` has each rank once.
void check_order(const Skeleton& skeleton);
/// Checks that there is a tree, that each leads from all ranks to one root, and that links have a
/// delay each or none.
void check_trees(const Skeleton& skeleton);
/// Checks that there is a single tree, whose ranks join after their parents in `order`.
void check_joining_tree(const Skeleton& skeleton);

} // namespace thalweg::algorithms
