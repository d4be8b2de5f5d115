/// The root sends everything to one rank of each other site, the farthest first; within each site a
/// scatter and an allgather follow. The root sends one message at a time, so that far sites aren't
/// late. Not segmented.
/// Source: Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast
/// Networks, section 3.1.
#include "algorithms/segments.hpp"
#include "algorithms/sites/site_phases.hpp"

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using schedule::How;
using schedule::Step;

class FarFirst final : public SiteAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "far-first"; }
  [[nodiscard]] std::string_view source() const override {
    return "Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast "
           "Networks, section 3.1";
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::bcast; }

protected:
  [[nodiscard]] std::int32_t window(const Parameters& parameters) const override {
    return one_at_a_time(parameters);
  }
  void add(Kind /*kind*/, SitePhases& phases) const override {
    phases.hold(phases.rank(0, 0), phases.all());
    Step step = 0;
    for (std::size_t site = 1; site < phases.sites(); ++site)
      phases.send(phases.rank(0, 0), phases.rank(site, 0), step++, How::copy, phases.all());
    for (std::size_t site = 0; site < phases.sites(); ++site)
      phases.allgather(site, phases.spread(site, phases.scatter(site, step)));
  }
};

} // namespace

const Algorithm& far_first() {
  static const FarFirst algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
