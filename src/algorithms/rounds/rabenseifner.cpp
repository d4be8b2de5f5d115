/// Rabenseifner's allreduce: a reduce-scatter by recursive halving, then an allgather by recursive
/// doubling; for reduce, a gather to the root along a binomial tree. As in MPICH half of the data
/// is exchanged with the nearest neighbour, a quarter with the next, and so on, so that the least
/// crosses the longest links; or the farthest neighbour is the first, as Matsuda et al. describe
/// it. Source: Rabenseifner: Optimization of Collective Reduction Operations, section "Allreduce:
/// halving and doubling"; Thakur, Rabenseifner, Gropp: Optimization of Collective Communication
/// Operations in MPICH, sections "Reduce" and "Allreduce"; Matsuda et al.: Efficient MPI Collective
/// Operations for Clusters in Long-and-Fast Networks, section 2.3.
#include "algorithms/order.hpp"
#include "algorithms/rounds/hypercube.hpp"
#include "algorithms/segments.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using schedule::How;
using schedule::Range;

/// Returns the chunks that a corner still works on before a round of the halving.
Range share(const Hypercube& cube, std::int32_t corner, std::int32_t round) {
  Range range{0, cube.corners(), 1};
  for (std::int32_t done = 0; done < round; ++done) {
    range.count /= 2;
    if ((corner >> done & 1) != 0) range.first += range.count;
  }
  return range;
}

class Rabenseifner final : public HypercubeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "rabenseifner"; }
  [[nodiscard]] std::string_view source() const override {
    return "Rabenseifner: Optimization of Collective Reduction Operations";
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    return kind == Kind::allreduce || kind == Kind::reduce;
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    // A segment's messages carry from half of it to its smallest part: the middle one should fit.
    const auto ranks = static_cast<std::uint32_t>(problem.collective.ranks);
    return segmented(problem, Size{1} << std::bit_width(ranks) / 2);
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton = begin(problem, parameters);
    skeleton.order = make_order(problem, parameters, 0, Shape::both_directions);
    if (parameters.halving == Halving::farthest) skeleton.order = farthest_first(skeleton.order);
    const Hypercube cube(skeleton.order);
    skeleton.chunks = cube.corners();
    // The root is at a corner, and its neighbour is folded in its place.
    if (problem.collective.kind == Kind::reduce) {
      const auto root = std::ranges::find(skeleton.order, skeleton.root);
      const auto position = static_cast<std::int32_t>(root - skeleton.order.begin());
      if (position < 2 * cube.folded() && position % 2 == 0) std::iter_swap(root, root + 1);
    }
    return skeleton;
  }

protected:
  void add_sends(const Context& context, std::int32_t from, std::int32_t round,
                 Sink& sink) const override {
    const Hypercube& cube = context.cube;
    const std::int32_t to = from ^ (std::int32_t{1} << round);
    sink.add(cube.rank(from), cube.rank(to), cube.begin() + round, cube.how(from, round),
             share(cube, to, round + 1));
    if (context.kind == Kind::reduce) {
      // Corners across which the root lies have sent all they have in earlier rounds.
      const std::int32_t across = from ^ context.root;
      if (across >> round != 1) return;
    }
    sink.add(cube.rank(from), cube.rank(to), cube.begin() + 2 * cube.rounds() - 1 - round,
             How::copy, share(cube, from, round + 1));
  }
  [[nodiscard]] schedule::Step steps(const Hypercube& cube) const override {
    return 2 * cube.rounds();
  }
};

} // namespace

const Algorithm& rabenseifner() {
  static const Rabenseifner algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
