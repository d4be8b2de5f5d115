/// Rabenseifner's allreduce for sites whose trunks carry more than one rank can send: each site
/// reduces the data to parts held by its ranks, sites exchange and combine equal parts, with
/// several ranks of each sending at once, and every site gathers all parts along a ring. With more
/// than two sites each chunk is combined at one site, a different one for each share of the data.
/// For reduce, only the root's site gets the parts, and gathers them at the root. If fewer ranks
/// should hold the parts that cross, others hand theirs over before, and get them back after: the
/// split itself can't stop early, since only fully reduced data should cross.
/// Source: Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast
/// Networks, sections 2.3 and 2.5.
#include "algorithms/sites/site_phases.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using schedule::How;
using schedule::Step;

class SiteRabenseifner final : public SiteAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "site-rabenseifner"; }
  [[nodiscard]] std::string_view source() const override {
    return "Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast "
           "Networks, section 2.3";
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    return kind == Kind::reduce || kind == Kind::allreduce;
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    return split_candidates(problem);
  }

protected:
  [[nodiscard]] bool may_split_early() const override { return true; }
  void add(Kind kind, SitePhases& phases) const override {
    Step step = 0;
    for (std::size_t site = 0; site < phases.sites(); ++site)
      step = std::max(step, phases.collect(site, phases.reduce_scatter(site, 0)));
    if (kind == Kind::reduce) {
      phases.gather(0, combine_at(0, phases, phases.all(), step));
    } else {
      step = phases.sites() == 2 ? exchange(phases, step) : combine_and_return(phases, step);
      for (std::size_t site = 0; site < phases.sites(); ++site)
        phases.allgather(site, phases.spread(site, step));
    }
  }

private:
  /// Combines the chunks of all sites at one site, one site after another.
  static Step combine_at(std::size_t home, SitePhases& phases, schedule::Range chunks, Step step) {
    Rank present = phases.lowest(home);
    for (std::size_t site = 0; site < phases.sites(); ++site) {
      if (site == home) continue;
      const How how = SitePhases::combine(phases.lowest(site), present);
      present = std::min(present, phases.lowest(site));
      step = phases.cross(site, home, chunks, how, step);
    }
    return step;
  }
  /// Both sites combine in the same order.
  static Step exchange(SitePhases& phases, Step step) {
    const auto one_way = [&](std::size_t from, std::size_t to) {
      const How how = SitePhases::combine(phases.lowest(from), phases.lowest(to));
      return phases.cross(from, to, phases.all(), how, step);
    };
    const Step end = std::max(one_way(0, 1), one_way(1, 0));
    for (const std::size_t site : {std::size_t{0}, std::size_t{1}})
      phases.hold_owned(site, phases.all());
    return end;
  }
  /// Each site combines a share of the chunks.
  static Step combine_and_return(SitePhases& phases, Step step) {
    const auto sites = static_cast<Rank>(phases.sites());
    const auto share = [&](std::size_t home) {
      return SitePhases::part(phases.all(), static_cast<Rank>(home), sites);
    };
    Step combined = step;
    for (std::size_t home = 0; home < phases.sites(); ++home)
      combined = std::max(combined, combine_at(home, phases, share(home), step));
    for (std::size_t home = 0; home < phases.sites(); ++home)
      phases.hold_owned(home, share(home));
    Step returned = combined;
    for (std::size_t home = 0; home < phases.sites(); ++home) {
      Step next = combined;
      for (std::size_t site = 0; site < phases.sites(); ++site)
        if (site != home) next = phases.cross(home, site, share(home), How::copy, next);
      returned = std::max(returned, next);
    }
    return returned;
  }
};

} // namespace

const Algorithm& site_rabenseifner() {
  static const SiteRabenseifner algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
