/// Each site reduces its data to one rank, these ranks exchange their results, and each site
/// broadcasts the total; for reduce, the other sites' ranks send their results to the root. Within
/// sites the phases are reduce-scatter and gather, then scatter and allgather. One message at a
/// time: in the paper the costs of the phases add up. Not segmented.
/// Source: Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast
/// Networks, section 3.2.
#include "algorithms/segments.hpp"
#include "algorithms/sites/site_phases.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using schedule::How;
using schedule::Step;

class TwoTier final : public SiteAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "two-tier"; }
  [[nodiscard]] std::string_view source() const override {
    return "Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast "
           "Networks, section 3.2";
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    return kind == Kind::reduce || kind == Kind::allreduce;
  }

protected:
  [[nodiscard]] std::int32_t window(const Parameters& parameters) const override {
    return one_at_a_time(parameters);
  }
  void add(Kind kind, SitePhases& phases) const override {
    Step step = 0;
    for (std::size_t site = 0; site < phases.sites(); ++site)
      step =
          std::max(step, phases.gather(site, phases.collect(site, phases.reduce_scatter(site, 0))));
    const auto leader = [&](std::size_t site) { return phases.rank(site, 0); };
    const bool exchange = kind == Kind::allreduce && phases.sites() == 2;
    if (exchange)
      phases.send(leader(0), leader(1), step,
                  SitePhases::combine(phases.lowest(0), phases.lowest(1)), phases.all());
    Rank present = phases.lowest(0);
    for (std::size_t site = 1; site < phases.sites(); ++site) {
      const How how = SitePhases::combine(phases.lowest(site), present);
      present = std::min(present, phases.lowest(site));
      phases.send(leader(site), leader(0), step++, how, phases.all());
    }
    if (kind == Kind::allreduce) {
      phases.hold(leader(0), phases.all());
      if (exchange) phases.hold(leader(1), phases.all());
      for (Rank member = 0; phases.sites() == 1 && member < phases.members(0); ++member)
        phases.hold(phases.rank(0, member), phases.own(0, member));
      for (std::size_t site = 1; site < phases.sites() && !exchange; ++site)
        phases.send(leader(0), leader(site), step++, How::copy, phases.all());
      for (std::size_t site = 0; site < phases.sites(); ++site)
        phases.allgather(site, phases.spread(site, phases.scatter(site, step)));
    }
  }
};

} // namespace

const Algorithm& two_tier() {
  static const TwoTier algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
