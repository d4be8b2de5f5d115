/// Dissemination: in each round every rank tells the one at twice the distance which ranks it knows
/// to have entered. The fewest rounds for any number of ranks.
/// Source: Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization. Open MPI calls it
/// Bruck's barrier.
#include "algorithms/rounds/rounds.hpp"

namespace thalweg::algorithms {
namespace {

using collective::Kind;

class Dissemination final : public RoundAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "dissemination"; }
  [[nodiscard]] std::string_view source() const override {
    return "Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization";
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::barrier; }

protected:
  [[nodiscard]] Step rounds(Kind /*kind*/, Rank ranks) const override { return doublings(ranks); }
  [[nodiscard]] Rank receiver(Rank ranks, Rank position, Step round) const override {
    return (position + (Rank{1} << round)) % ranks;
  }
  [[nodiscard]] Rank sender(Rank ranks, Rank position, Step round) const override {
    return (position - (Rank{1} << round) + ranks) % ranks;
  }
  [[nodiscard]] Message message(Kind /*kind*/, const Circle& /*circle*/, Rank /*from*/, Rank /*to*/,
                                Step /*round*/) const override {
    return {{{0, 1, 1}}, schedule::How::combine_right};
  }
};

} // namespace

const Algorithm& dissemination() {
  static const Dissemination algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
