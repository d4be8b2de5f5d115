#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

using schedule::Step;

/// Returns the rounds until all of `ranks` have what one had, if all that have it pass it on in
/// each.
[[nodiscard]] Step doublings(Rank ranks);

/// The positions of an order on a circle: position -1 is the last one.
class Circle {
public:
  /// O(ranks), for a reduction O(ranks log ranks).
  Circle(collective::Kind kind, const std::vector<Rank>& order);

  [[nodiscard]] Rank size() const { return static_cast<Rank>(_order.size()); }
  [[nodiscard]] Rank at(Rank position) const;
  /// Returns the position in 0 ... size() - 1.
  [[nodiscard]] Rank wrap(Rank position) const { return (position % size() + size()) % size(); }
  /// Returns the lowest of the ranks at `count` positions from `first` on. O(1). For reductions
  /// only.
  [[nodiscard]] Rank lowest(Rank first, Rank count) const;
  /// Returns the chunks of `count` positions from `first` on: the ranks' blocks or, of a vector,
  /// which is cut into one chunk per position, these chunks.
  [[nodiscard]] std::vector<schedule::Range> chunks(Rank first, Rank count = 1) const;
  /// Returns the alltoall block that goes from one position to another.
  [[nodiscard]] ChunkId block(Rank from, Rank to) const {
    return ChunkId{at(from)} * size() + at(to);
  }

private:
  const std::vector<Rank>& _order;
  bool _blocks;
  std::vector<std::vector<Rank>> _lowest; ///< by the binary logarithm of the count, and by first
};

/// An algorithm of rounds in which a position sends at most one message, and receives at most one.
/// Blocks are whole chunks; a vector is cut into one chunk per position, and a barrier's token
/// isn't cut.
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
  /// Returns the number of rounds, which are counted from 0.
  [[nodiscard]] virtual Step rounds(collective::Kind kind, Rank ranks) const = 0;
  /// Return to whom a position sends in a round, and from whom it receives; no_rank: nobody.
  [[nodiscard]] virtual Rank receiver(Rank ranks, Rank position, Step round) const = 0;
  [[nodiscard]] virtual Rank sender(Rank ranks, Rank position, Step round) const = 0;
  /// Returns the message of a round; if it is empty, none is sent.
  [[nodiscard]] virtual Message message(collective::Kind kind, const Circle& circle, Rank from,
                                        Rank to, Step round) const = 0;
  /// Returns Skeleton::window.
  [[nodiscard]] virtual std::int32_t window(const Parameters& /*parameters*/) const { return 0; }
};

/// Returns Skeleton::window for rounds in which a rank sends one message and waits for another, as
/// MPI_Sendrecv does: 2, so that no port idles while the awaited message is still in flight. With
/// 1, ranks that send before they receive would run ahead of the others and take their bandwidth.
/// Segments are meant to overlap, so with segments the usual window applies.
[[nodiscard]] inline std::int32_t round_by_round(const Parameters& parameters) {
  return parameters.segment_size > 0 ? 0 : 2;
}

/// The alltoall and allgather in which every rank sends to every other: in round s to the one s + 1
/// positions further on.
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

/// Rounds in which every rank sends to the one twice as many positions further on as in the round
/// before, from 1 on.
class DoublingDistance : public RoundAlgorithm {
protected:
  [[nodiscard]] Step rounds(collective::Kind kind, Rank ranks) const override;
  [[nodiscard]] Rank receiver(Rank ranks, Rank position, Step round) const override;
  [[nodiscard]] Rank sender(Rank ranks, Rank position, Step round) const override;
};

/// Recursive doubling of an allgather, for any number of ranks: in each round neighbouring groups
/// that have all their own chunks exchange them. The chunks of a last, smaller group go to the
/// first ranks of the group beside it, which pass them on.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in
/// MPICH, section "Allgather".
class DoublingRounds {
public:
  explicit DoublingRounds(Rank ranks);
  [[nodiscard]] Step count() const { return static_cast<Step>(_rounds.size()); }
  [[nodiscard]] Rank receiver(Rank position, Step round) const;
  [[nodiscard]] Rank sender(Rank position, Step round) const;
  /// The positions whose chunks go from `from` in a round.
  struct Stretch {
    Rank first = 0, count = 0;
  };
  [[nodiscard]] Stretch sent(Rank from, Step round) const;
  /// Returns the ranks per group before the round.
  [[nodiscard]] Rank group(Step round) const {
    return _rounds[static_cast<std::size_t>(round)].group;
  }
  /// Whether groups exchange in the round; otherwise received chunks are passed on.
  [[nodiscard]] bool exchanges(Step round) const {
    return _rounds[static_cast<std::size_t>(round)].distance == 0;
  }

private:
  struct Round {
    Rank group = 1;
    Rank distance = 0; ///< at which chunks are passed on; 0: groups exchange
  };
  /// Returns the first rank of the full group that has the last, smaller group beside it, and the
  /// smaller group's size.
  [[nodiscard]] Stretch smaller(Rank group) const;

  Rank _ranks;
  std::vector<Round> _rounds;
};

} // namespace thalweg::algorithms
