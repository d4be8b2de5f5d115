#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

using schedule::Step;

/// Rounds after which all of `ranks` have what one had, if as many as have it pass it on in each.
[[nodiscard]] Step doublings(Rank ranks);

/// The positions of an order, counted round and round: position -1 is the last one.
class Circle {
public:
  /// O(ranks), of a reduction O(ranks log ranks).
  Circle(collective::Kind kind, const std::vector<Rank>& order);

  [[nodiscard]] Rank size() const { return static_cast<Rank>(_order.size()); }
  [[nodiscard]] Rank at(Rank position) const;
  /// The position, from 0 on.
  [[nodiscard]] Rank wrap(Rank position) const { return (position % size() + size()) % size(); }
  /// Of the ranks at `count` positions from `first` on, the lowest. O(1). For reductions.
  [[nodiscard]] Rank lowest(Rank first, Rank count) const;
  /// The chunks that belong to `count` positions from `first` on: the ranks' blocks, or of a
  /// vector, which is cut into a chunk per position, those.
  [[nodiscard]] std::vector<schedule::Range> chunks(Rank first, Rank count = 1) const;
  /// alltoall: the block that goes from one position to another.
  [[nodiscard]] ChunkId block(Rank from, Rank to) const {
    return ChunkId{at(from)} * size() + at(to);
  }

private:
  const std::vector<Rank>& _order;
  bool _blocks;
  std::vector<std::vector<Rank>> _lowest; ///< by the binary logarithm of the count, and by first
};

/// Rounds in each of which a position sends one message at most, and receives one at most. Blocks
/// are whole chunks; a vector is cut into a chunk per position, the token of a barrier isn't cut.
class RoundAlgorithm : public Algorithm {
public:
  /// Positions are those of a ring that begins with the root, or rank 0.
  [[nodiscard]] Skeleton build(const Problem& problem, const Parameters& parameters) const override;
  void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const final;

protected:
  struct Message {
    std::vector<schedule::Range> what;
    schedule::How how = schedule::How::copy;
  };
  /// How many there are, counted from 0.
  [[nodiscard]] virtual Step rounds(collective::Kind kind, Rank ranks) const = 0;
  /// To whom a position sends in a round, and from whom it receives; no_rank: nobody.
  [[nodiscard]] virtual Rank receiver(Rank ranks, Rank position, Step round) const = 0;
  [[nodiscard]] virtual Rank sender(Rank ranks, Rank position, Step round) const = 0;
  /// None is sent if it is empty.
  [[nodiscard]] virtual Message message(collective::Kind kind, const Circle& circle, Rank from,
                                        Rank to, Step round) const = 0;
  /// Skeleton::window.
  [[nodiscard]] virtual std::int32_t window(const Parameters& /*parameters*/) const { return 0; }
};

/// Skeleton::window of rounds in each of which a rank sends one message and waits for another, as
/// MPI_Sendrecv does: two, so that nobody's port idles while what it waits for is still under way.
/// With one, ranks whose send comes before their receive would run ahead of the others and get in
/// their way. In segments, which are there to overlap, it is the executor's.
[[nodiscard]] inline std::int32_t round_by_round(const Parameters& parameters) {
  return parameters.segment_size > 0 ? 0 : 2;
}

/// In round s each rank deals with the one s + 1 positions further on: the alltoall and allgather
/// in which everybody sends to everybody.
class ShiftAlgorithm : public RoundAlgorithm {
public:
  [[nodiscard]] bool supports(collective::Kind kind) const override {
    return kind == collective::Kind::alltoall || kind == collective::Kind::allgather;
  }

protected:
  [[nodiscard]] Step rounds(collective::Kind kind, Rank ranks) const override;
  [[nodiscard]] Rank receiver(Rank ranks, Rank position, Step round) const override;
  [[nodiscard]] Rank sender(Rank ranks, Rank position, Step round) const override;
  [[nodiscard]] Message message(collective::Kind kind, const Circle& circle, Rank from, Rank to,
                                Step round) const override;
};

/// Recursive doubling of an allgather, for any number of ranks: in each round groups that have all
/// chunks of their own exchange them with the group beside them. What a last, smaller group has
/// comes to the first of those beside it, who pass it on.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in
/// MPICH, section "Allgather".
class DoublingRounds {
public:
  explicit DoublingRounds(Rank ranks);
  [[nodiscard]] Step count() const { return static_cast<Step>(_rounds.size()); }
  [[nodiscard]] Rank receiver(Rank position, Step round) const;
  [[nodiscard]] Rank sender(Rank position, Step round) const;
  /// The positions whose chunks go from `from` in that round.
  struct Stretch {
    Rank first = 0, count = 0;
  };
  [[nodiscard]] Stretch sent(Rank from, Step round) const;
  /// Ranks per group before the round.
  [[nodiscard]] Rank group(Step round) const {
    return _rounds[static_cast<std::size_t>(round)].group;
  }
  /// Whether groups exchange in it; else what came is passed on.
  [[nodiscard]] bool exchanges(Step round) const {
    return _rounds[static_cast<std::size_t>(round)].distance == 0;
  }

private:
  struct Round {
    Rank group = 1;
    Rank distance = 0; ///< at which it is passed on; 0: groups exchange
  };
  /// The first of those that have the smaller group beside them, and the ranks of that.
  [[nodiscard]] Stretch smaller(Rank group) const;

  Rank _ranks;
  std::vector<Round> _rounds;
};

} // namespace thalweg::algorithms
