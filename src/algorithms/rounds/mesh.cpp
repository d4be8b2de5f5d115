/// A mesh of ranks, as square as their number allows: first all ranks of a row exchange data, then
/// all of a column exchange what the rows have by then. This takes fewer messages than a direct
/// exchange between all ranks, and sends each block at most twice.
/// Source: SimGrid's SMPI, allgather-2dmesh.cpp and alltoall-2dmesh.cpp (after STAR-MPI).
#include "algorithms/ranges.hpp"
#include "algorithms/rounds/rounds.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using collective::Kind;

/// Returns the ranks of a row: the largest divisor up to the square root.
Rank row_length(Rank ranks) {
  Rank length = 1;
  for (Rank divisor = 2; divisor * divisor <= ranks; ++divisor)
    if (ranks % divisor == 0) length = divisor;
  return length;
}

class Mesh final : public RoundAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "mesh"; }
  [[nodiscard]] std::string_view source() const override {
    return "SimGrid's SMPI, allgather-2dmesh.cpp and alltoall-2dmesh.cpp";
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    return kind == Kind::allgather || kind == Kind::alltoall;
  }
  [[nodiscard]] bool can_do(const Collective& collective) const override {
    return Algorithm::can_do(collective) && row_length(collective.ranks) > 1;
  }
  [[nodiscard]] std::string_view needed_ranks() const override {
    return "a number of ranks that is a product of two larger than 1";
  }

protected:
  [[nodiscard]] Step rounds(Kind /*kind*/, Rank ranks) const override {
    const Rank length = row_length(ranks);
    return length - 1 + ranks / length - 1;
  }
  [[nodiscard]] Rank receiver(Rank ranks, Rank position, Step round) const override {
    return shifted(ranks, position, round, 1);
  }
  [[nodiscard]] Rank sender(Rank ranks, Rank position, Step round) const override {
    return shifted(ranks, position, round, -1);
  }
  [[nodiscard]] Message message(Kind kind, const Circle& circle, Rank from, Rank to,
                                Step round) const override {
    const Rank ranks = circle.size(), length = row_length(ranks), row = from / length * length;
    const bool along_row = round < length - 1;
    if (kind == Kind::allgather)
      return {along_row ? circle.chunks(from) : circle.chunks(row, length)};
    std::vector<ChunkId> blocks; // to all of a column, or from all of a row
    if (along_row)
      for (Rank target = to % length; target < ranks; target += length)
        blocks.push_back(circle.block(from, target));
    else
      for (Rank origin = row; origin < row + length; ++origin)
        blocks.push_back(circle.block(origin, to));
    std::ranges::sort(blocks);
    return {to_ranges(blocks)};
  }

private:
  /// Returns the position further on, or back, in the row or column of the round.
  static Rank shifted(Rank ranks, Rank position, Step round, Rank sign) {
    const Rank length = row_length(ranks), column = position % length;
    if (round < length - 1)
      return position - column + (column + sign * (round + 1) + length) % length;
    return (position + sign * (round - length + 2) * length + ranks) % ranks;
  }
};

} // namespace

const Algorithm& mesh() {
  static const Mesh algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
