#pragma once

#include "algorithms/algorithm.hpp"

#include <vector>

namespace thalweg::algorithms {

/// The corners of the largest hypercube that the ranks fill. The remaining ranks, fewer than the
/// corners, are folded: each hands its data to its neighbour in the order before the rounds, and
/// gets the result after them.
class Hypercube {
public:
  /// O(ranks).
  explicit Hypercube(const std::vector<Rank>& order);

  [[nodiscard]] std::int32_t rounds() const { return _rounds; }
  [[nodiscard]] std::int32_t corners() const { return std::int32_t{1} << _rounds; }
  [[nodiscard]] std::int32_t folded() const {
    return static_cast<std::int32_t>(_order.size()) - corners();
  }
  /// Returns the rank at a corner.
  [[nodiscard]] Rank rank(std::int32_t corner) const;
  /// Returns the rank that is folded onto a corner, if corner < folded().
  [[nodiscard]] Rank folded_rank(std::int32_t corner) const;
  /// Returns the first round's step.
  [[nodiscard]] schedule::Step begin() const { return folded() > 0 ? 1 : 0; }
  /// Returns the corner that a rank is at or folded onto.
  [[nodiscard]] std::int32_t corner(Rank rank) const;
  /// Returns how the neighbour across dimension `round` combines what `from` has by then.
  [[nodiscard]] schedule::How how(std::int32_t from, std::int32_t round) const;

private:
  const std::vector<Rank>& _order;
  std::int32_t _rounds;
  std::vector<std::vector<Rank>> _lowest; ///< by round and by corner >> round
};

/// Returns the order in which a hypercube's first dimension joins ranks that are half of all ranks
/// apart in `near`, its second one those a quarter apart, and so on: a corner gets the neighbours
/// in `near` that have its number with the bits reversed. Folded ranks stay next to theirs.
[[nodiscard]] std::vector<Rank> farthest_first(const std::vector<Rank>& near);

/// An algorithm in which ranks exchange along the dimensions of a hypercube.
class HypercubeAlgorithm : public Algorithm {
public:
  void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const final;

protected:
  /// The context of add_sends().
  struct Context {
    collective::Kind kind;
    const Skeleton& skeleton;
    const Hypercube& cube;
    std::int32_t root; ///< its corner
  };
  /// Adds all that a corner sends across one dimension.
  virtual void add_sends(const Context& context, std::int32_t from, std::int32_t round,
                         Sink& sink) const = 0;
  /// Returns the steps between folding and unfolding.
  [[nodiscard]] virtual schedule::Step steps(const Hypercube& cube) const = 0;
};

/// A reduce_scatter by recursive halving: in each round a corner hands over its contributions to
/// all blocks that the corners across still deal with. Folded ranks get their block at the end.
class HalvingAlgorithm : public HypercubeAlgorithm {
public:
  [[nodiscard]] bool supports(collective::Kind kind) const final {
    return kind == collective::Kind::reduce_scatter;
  }

protected:
  /// @param order as for Hypercube
  [[nodiscard]] Skeleton halving(const Problem& problem, const Parameters& parameters,
                                 std::vector<Rank> order) const;
  void add_sends(const Context& context, std::int32_t from, std::int32_t round,
                 Sink& sink) const final;
  [[nodiscard]] schedule::Step steps(const Hypercube& cube) const final { return cube.rounds(); }
};

} // namespace thalweg::algorithms
