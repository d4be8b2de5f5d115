/// Recursive doubling: in each round all ranks exchange all they have combined with the one at
/// twice the distance. The fewest rounds there are; for short messages. Source: Thakur,
/// Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, section
/// "Allreduce".
#include "algorithms/hypercube.hpp"
#include "algorithms/order.hpp"

namespace thalweg::algorithms {
namespace {

class RecursiveDoubling final : public HypercubeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "recursive-doubling"; }
  [[nodiscard]] std::string_view source() const override {
    return "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
           "MPICH, section Allreduce";
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton;
    skeleton.algorithm = name();
    skeleton.ranks = problem.collective.ranks;
    skeleton.segment_size = parameters.segment_size;
    skeleton.order = make_order(problem, parameters, 0, Shape::both_ways);
    return skeleton;
  }

protected:
  void add_sends(const Hypercube& cube, std::int32_t from, std::int32_t round,
                 Sink& sink) const override {
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
