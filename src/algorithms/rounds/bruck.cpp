/// Bruck: the fewest rounds for any number of ranks. In an allgather each rank's contiguous blocks
/// double in each round. In an alltoall a block that must go d positions further moves by the
/// powers of two whose sum is d; ranks on its path hold it for others.
/// Source: Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications
/// in Multiport Message-Passing Systems.
#include "algorithms/ranges.hpp"
#include "algorithms/rounds/rounds.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using collective::Kind;

class Bruck final : public DoublingDistance {
public:
  [[nodiscard]] std::string_view name() const override { return "bruck"; }
  [[nodiscard]] std::string_view source() const override {
    return "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All "
           "Communications in Multiport Message-Passing Systems";
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    return kind == Kind::allgather || kind == Kind::alltoall;
  }

protected:
  [[nodiscard]] Message message(Kind kind, const Circle& circle, Rank from, Rank /*to*/,
                                Step round) const override {
    const Rank distance = Rank{1} << round, ranks = circle.size();
    if (kind == Kind::allgather) {
      const Rank count = std::min(distance, ranks - distance); // what the receiver lacks
      return {circle.chunks(from - count + 1, count)};
    }
    std::vector<ChunkId> blocks;
    for (Rank offset = distance; offset < ranks; ++offset) {
      if ((offset & distance) == 0) continue;
      const Rank origin = from - offset % distance; // the distance covered in earlier rounds
      blocks.push_back(circle.block(origin, origin + offset));
    }
    std::ranges::sort(blocks);
    return {to_ranges(blocks)};
  }
};

} // namespace

const Algorithm& bruck() {
  static const Bruck algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
