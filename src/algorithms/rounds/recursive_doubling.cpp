/// Recursive doubling: in each round all ranks exchange all they have combined with the one at
/// twice the distance. The fewest rounds possible; for short messages, and barriers.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in
/// MPICH, section "Allreduce"; Open MPI, coll_base_barrier.c (recursive doubling).
#include "algorithms/order.hpp"
#include "algorithms/rounds/hypercube.hpp"

namespace thalweg::algorithms {
namespace {

class RecursiveDoubling final : public HypercubeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "recursive-doubling"; }
  [[nodiscard]] std::string_view source() const override {
    return "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
           "MPICH, section Allreduce";
  }
  [[nodiscard]] bool supports(collective::Kind kind) const override {
    return kind == collective::Kind::allreduce || kind == collective::Kind::barrier;
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton = begin(problem, parameters);
    skeleton.order = make_order(problem, parameters, 0, Shape::both_directions);
    return skeleton;
  }

protected:
  void add_sends(const Context& context, std::int32_t from, std::int32_t round,
                 Sink& sink) const override {
    const Hypercube& cube = context.cube;
    sink.add(cube.rank(from), cube.rank(from ^ (std::int32_t{1} << round)), cube.begin() + round,
             cube.how(from, round), schedule::Range{0, 1, 1});
  }
  [[nodiscard]] schedule::Step steps(const Hypercube& cube) const override { return cube.rounds(); }
};

} // namespace

const Algorithm& recursive_doubling() {
  static const RecursiveDoubling algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
