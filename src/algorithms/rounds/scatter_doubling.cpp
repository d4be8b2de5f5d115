/// Scatter and allgather by recursive doubling: the root scatters the data along a binomial tree,
/// one chunk per rank, then ranks exchange what they have with the one at twice the distance,
/// except what they have from the scatter. Fewer rounds than with a ring.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in
/// MPICH, section "Broadcast".
#include "algorithms/rounds/rounds.hpp"
#include "algorithms/segments.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;

/// Returns the distance of a round of the scatter.
Rank distance(Rank ranks, Step round) { return Rank{1} << (doublings(ranks) - 1 - round); }

class ScatterDoubling final : public RoundAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "scatter-doubling"; }
  [[nodiscard]] std::string_view source() const override {
    return "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
           "MPICH, section Broadcast";
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::bcast; }

protected:
  [[nodiscard]] std::int32_t window(const Parameters& parameters) const override {
    return one_at_a_time(parameters);
  }
  [[nodiscard]] Step rounds(Kind /*kind*/, Rank ranks) const override {
    return doublings(ranks) + DoublingRounds(ranks).count();
  }
  [[nodiscard]] Rank receiver(Rank ranks, Rank position, Step round) const override {
    const Step scatter = doublings(ranks);
    if (round >= scatter) return DoublingRounds(ranks).receiver(position, round - scatter);
    const Rank half = distance(ranks, round);
    return position % (2 * half) == 0 && position + half < ranks ? position + half : no_rank;
  }
  [[nodiscard]] Rank sender(Rank ranks, Rank position, Step round) const override {
    const Step scatter = doublings(ranks);
    if (round >= scatter) return DoublingRounds(ranks).sender(position, round - scatter);
    const Rank half = distance(ranks, round);
    return position % (2 * half) == half ? position - half : no_rank;
  }
  [[nodiscard]] Message message(Kind /*kind*/, const Circle& circle, Rank from, Rank to,
                                Step round) const override {
    const Rank ranks = circle.size();
    const Step scatter = doublings(ranks);
    if (round < scatter) return {circle.chunks(to, std::min(distance(ranks, round), ranks - to))};
    const DoublingRounds doubling(ranks);
    const Step exchange = round - scatter;
    // The receiver has both groups' chunks from the scatter.
    if (doubling.exchanges(exchange) && to % (2 * doubling.group(exchange)) == 0) return {};
    const auto [first, count] = doubling.sent(from, exchange);
    return {circle.chunks(first, count)};
  }
};

} // namespace

const Algorithm& scatter_doubling() {
  static const ScatterDoubling algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
