#pragma once

#include "algorithms/algorithm.hpp"

#include <vector>

namespace thalweg::algorithms {

/// The corners of the largest hypercube that the ranks fill. The others, of which there are fewer
/// than corners, are folded: each hands its data to its neighbour in the order before the rounds,
/// and gets the result after them.
class Hypercube {
public:
  /// O(ranks).
  explicit Hypercube(const std::vector<Rank>& order);

  [[nodiscard]] std::int32_t rounds() const { return _rounds; }
  [[nodiscard]] std::int32_t corners() const { return std::int32_t{1} << _rounds; }
  [[nodiscard]] std::int32_t folded() const {
    return static_cast<std::int32_t>(_order.size()) - corners();
  }
  /// The rank at a corner.
  [[nodiscard]] Rank rank(std::int32_t corner) const;
  /// The rank that is folded onto a corner, if corner < folded().
  [[nodiscard]] Rank folded_rank(std::int32_t corner) const;
  /// The first round's step.
  [[nodiscard]] schedule::Step begin() const { return folded() > 0 ? 1 : 0; }
  /// What the neighbour across dimension `round` does with what `from` has combined by then.
  [[nodiscard]] schedule::How how(std::int32_t from, std::int32_t round) const;

private:
  const std::vector<Rank>& _order;
  std::int32_t _rounds;
  std::vector<std::vector<Rank>> _lowest; ///< by round and by corner >> round
};

/// An allreduce in which ranks exchange along the dimensions of a hypercube.
class HypercubeAlgorithm : public Algorithm {
public:
  [[nodiscard]] bool supports(collective::Kind kind) const final {
    return kind == collective::Kind::allreduce;
  }
  void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const final;

protected:
  /// All that a corner sends across one dimension.
  virtual void add_sends(const Hypercube& cube, std::int32_t from, std::int32_t round,
                         Sink& sink) const = 0;
  /// The steps between folding and unfolding.
  [[nodiscard]] virtual schedule::Step steps(const Hypercube& cube) const = 0;
};

} // namespace thalweg::algorithms
