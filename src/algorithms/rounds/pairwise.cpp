/// Pairwise: in each step every rank sends to the one at a distance that grows by one, and receives
/// from the one as far behind, before it goes on. In a reduce_scatter the arriving block is
/// combined with the rank's own.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in
/// MPICH, sections "Alltoall" and "Reduce-scatter" (pairwise exchange).
#include "algorithms/rounds/rounds.hpp"

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using schedule::How;

class Pairwise final : public ShiftAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "pairwise"; }
  [[nodiscard]] std::string_view source() const override {
    return "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
           "MPICH, sections Alltoall and Reduce-scatter (pairwise exchange)";
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    return kind == Kind::alltoall || kind == Kind::reduce_scatter;
  }

protected:
  [[nodiscard]] std::int32_t window(const Parameters& parameters) const override {
    return round_by_round(parameters);
  }
  [[nodiscard]] Message message(Kind kind, const Circle& circle, Rank from, Rank to,
                                Step round) const override {
    if (kind == Kind::alltoall) return ShiftAlgorithm::message(kind, circle, from, to, round);
    // The contributions of the ranks in between were combined before.
    const Rank present = circle.lowest(to - round, round + 1);
    return {circle.chunks(to), circle.at(from) < present ? How::combine_left : How::combine_right};
  }
};

} // namespace

const Algorithm& pairwise() {
  static const Pairwise algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
