/// The root sends everything to one rank of each other site, the farthest first; within each site a
/// scatter and an allgather follow. Not segmented.
/// Source: Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast
/// Networks, section 3.1.
#include "algorithms/site_phases.hpp"

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using schedule::How;
using schedule::Step;

class FarFirst final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "far-first"; }
  [[nodiscard]] std::string_view source() const override {
    return "Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast "
           "Networks, "
           "section 3.1";
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::bcast; }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override { return ranks <= most_quick_ranks; }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton;
    skeleton.algorithm = name();
    skeleton.ranks = problem.collective.ranks;
    skeleton.root = problem.collective.root;
    skeleton.segment_size = parameters.segment_size;
    lay_out_sites(problem, parameters, skeleton);
    return skeleton;
  }

  void emit(Kind /*kind*/, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    SitePhases phases(skeleton, rank, sink);
    phases.hold(phases.rank(0, 0), phases.all());
    Step step = 0;
    for (std::size_t site = 1; site < phases.sites(); ++site)
      phases.send(phases.rank(0, 0), phases.rank(site, 0), step++, How::copy, phases.all());
    for (std::size_t site = 0; site < phases.sites(); ++site)
      phases.allgather(site, phases.scatter(site, step));
    sink.sort();
  }
};

} // namespace

const Algorithm& far_first() {
  static const FarFirst algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
