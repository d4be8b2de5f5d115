/// Pairs exchange the data they have for each other, a rank with one other at a time: in a step
/// rank i deals with i xor step if the number of ranks is a power of two, else with step - i. A
/// pair's blocks replace each other, so that an alltoall can be done in place.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in
/// MPICH, section "Alltoall" (pairwise exchange); MPICH,
/// alltoall_intra_pairwise_sendrecv_replace.c.
#include "algorithms/rounds/rounds.hpp"

#include <bit>

namespace thalweg::algorithms {
namespace {

using collective::Kind;

bool is_power_of_two(Rank ranks) { return std::has_single_bit(static_cast<std::uint32_t>(ranks)); }

class Exchange final : public ShiftAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "exchange"; }
  [[nodiscard]] std::string_view source() const override {
    return "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
           "MPICH, section Alltoall (pairwise exchange)";
  }
  [[nodiscard]] bool can_do(const Collective& collective) const override {
    return supports(collective.kind);
  }

protected:
  [[nodiscard]] std::int32_t window(const Parameters& parameters) const override {
    return round_by_round(parameters);
  }
  [[nodiscard]] Step rounds(Kind /*kind*/, Rank ranks) const override {
    return is_power_of_two(ranks) ? ranks - 1 : ranks;
  }
  [[nodiscard]] Rank receiver(Rank ranks, Rank position, Step round) const override {
    const Rank other =
        is_power_of_two(ranks) ? position ^ (round + 1) : (round - position + ranks) % ranks;
    return other == position ? collective::no_rank : other;
  }
  [[nodiscard]] Rank sender(Rank ranks, Rank position, Step round) const override {
    return receiver(ranks, position, round);
  }
};

} // namespace

const Algorithm& exchange() {
  static const Exchange algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
