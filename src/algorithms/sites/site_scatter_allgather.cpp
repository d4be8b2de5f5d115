/// Scatter and allgather for sites whose trunks carry more than one rank can send: the root's site
/// scatters the data, several of its ranks send parts to the ranks of each other site that need
/// them, and every site gathers all parts along a ring. Works for any number of sites of any sizes.
/// The split may stop early, when there are as many parts as senders: the rest of it follows the
/// crossing.
/// Source: Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast
/// Networks, sections 2.2, 2.4 and 2.5, the modified van de Geijn bcast. Its forwarding of whole
/// parts wastes senders if their number doesn't divide the number of ranks: here parts are cut by
/// bytes.
#include "algorithms/segments.hpp"
#include "algorithms/sites/site_phases.hpp"

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using schedule::How;
using schedule::Step;

class SiteScatterAllgather final : public SiteAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "site-scatter-allgather"; }
  [[nodiscard]] std::string_view source() const override {
    return "Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast "
           "Networks, section 2.2";
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::bcast; }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    return split_candidates(problem);
  }

protected:
  [[nodiscard]] bool may_split_early() const override { return true; }
  /// The data that crosses must not share the senders' ports with the rest of the split.
  [[nodiscard]] std::int32_t window(const Parameters& parameters) const override {
    return parameters.split == Split::early ? one_at_a_time(parameters) : 0;
  }
  void add(Kind /*kind*/, SitePhases& phases) const override {
    phases.hold(phases.rank(0, 0), phases.all());
    Step step = phases.scatter(0, 0);
    for (std::size_t site = 1; site < phases.sites(); ++site)
      step = phases.cross(0, site, phases.all(), How::copy, step);
    for (std::size_t site = 0; site < phases.sites(); ++site)
      phases.allgather(site, phases.spread(site, step));
  }
};

} // namespace

const Algorithm& site_scatter_allgather() {
  static const SiteScatterAllgather algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
