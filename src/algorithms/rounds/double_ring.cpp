/// The double ring: a token goes around once to learn that all have entered, and a second time to
/// tell it.
/// Source: Open MPI, coll_base_barrier.c (double ring).
#include "algorithms/quick.hpp"
#include "algorithms/rounds/rounds.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::How;

class DoubleRing final : public RoundAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "double-ring"; }
  [[nodiscard]] std::string_view source() const override {
    return "Open MPI, coll_base_barrier.c (double ring)";
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::barrier; }
  /// Each rank is asked for each of the 2 ranks - 2 rounds.
  [[nodiscard]] bool builds_quickly(Rank ranks) const override {
    return ranks <= most_squared_ranks;
  }

protected:
  /// The last rank learns it in the first circulation.
  [[nodiscard]] Step rounds(Kind /*kind*/, Rank ranks) const override { return 2 * ranks - 2; }
  [[nodiscard]] Rank receiver(Rank ranks, Rank position, Step round) const override {
    return round % ranks == position ? (position + 1) % ranks : no_rank;
  }
  [[nodiscard]] Rank sender(Rank ranks, Rank position, Step round) const override {
    return (round + 1) % ranks == position ? round % ranks : no_rank;
  }
  [[nodiscard]] Message message(Kind /*kind*/, const Circle& circle, Rank /*from*/, Rank /*to*/,
                                Step round) const override {
    return {{{0, 1, 1}}, round < circle.size() ? How::combine_right : How::copy};
  }
};

} // namespace

const Algorithm& double_ring() {
  static const DoubleRing algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
