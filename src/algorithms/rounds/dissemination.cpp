/// Dissemination: in each round every rank tells the one at twice the distance which ranks it knows
/// to have entered. The fewest rounds for any number of ranks.
/// Source: Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization. Open MPI calls it
/// Bruck's barrier.
#include "algorithms/rounds/rounds.hpp"

namespace thalweg::algorithms {
namespace {

using collective::Kind;

class Dissemination final : public DoublingDistance {
public:
  [[nodiscard]] std::string_view name() const override { return "dissemination"; }
  [[nodiscard]] std::string_view source() const override {
    return "Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization";
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::barrier; }

protected:
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
