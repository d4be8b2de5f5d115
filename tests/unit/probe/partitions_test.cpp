#include "bench/simulated_prober.hpp"
#include "probe/partitions.hpp"
#include "probe/shifts.hpp"

#include <doctest/doctest.h>
#include <limits>

using namespace thalweg;
using namespace thalweg::probe;
using namespace thalweg::probe::simulated;
using doctest::Approx;

namespace {

constexpr Rate alone{10e6}; ///< of each flow

/// Sites of two hosts, equally far from each other, with nothing between them that limits them.
Topology pairs_of_hosts(std::size_t sites) {
  const std::size_t hosts = 2 * sites;
  Topology net{"pairs",
               network::Matrix<Time>(hosts, Time(10e-3)),
               network::Matrix<Rate>(hosts, alone),
               std::vector<Rate>(hosts, alone),
               std::vector<Rate>(hosts, alone),
               {}};
  for (HostId a = 0; a < net.hosts(); ++a)
    net.latency(a, a ^ 1) = Time(1e-4);
  return net;
}

Sites sites_of(const Topology& net) {
  Sites sites;
  for (HostId host = 0; host < net.hosts(); host += 2)
    sites.push_back({host, host + 1});
  return sites;
}

/// Limits what the hosts of one site send to those of another.
void add_link(Topology& net, HostId from, HostId to, Rate capacity) {
  Link link{"link", network::Matrix<char>(net.egress.size(), 0), capacity};
  for (const HostId a : {2 * from, 2 * from + 1})
    for (const HostId b : {2 * to, 2 * to + 1})
      link.carries(a, b) = 1;
  net.links.push_back(std::move(link));
}

/// Counts how often the time is looked at, and lets it end after some looks.
class CountingProber : public SimulatedProber {
public:
  explicit CountingProber(const Topology& truth)
      : SimulatedProber(truth, Time(600), 1e-3, 1) {} // budget, noise, seed
  [[nodiscard]] Nanoseconds clock() const override {
    return looks++ < most_looks ? 0 : std::numeric_limits<Nanoseconds>::max();
  }
  mutable std::size_t looks = 0;
  std::size_t most_looks = std::numeric_limits<std::size_t>::max();
};

/// What crowds between the sites of a network have shown.
class Watched {
public:
  /// @param most crowds
  Watched(const Topology& net, std::size_t most)
      : prober(net), sites(sites_of(net)),
        _latencies(latencies_of(net)), _bandwidths{network::Matrix<Rate>(net.egress.size(), alone),
                                                   network::Matrix<float>(net.egress.size(), 0)},
        _crowds(prober, _latencies, _bandwidths, 65536, "watching"),
        _evidence(_crowds, RateModel(_bandwidths), 1) {
    auto crowds = shifts_between(sites);
    crowds.resize(std::min(crowds.size(), most));
    for (const auto& crowd : crowds)
      _evidence.run(crowd);
  }

  /// Returns what is supposed within some looks at the time, at most so many.
  std::vector<Supposition> suppose(std::size_t looks, std::size_t most) {
    std::vector<Supposition> found;
    prober.looks = 0, prober.most_looks = looks;
    suppose_trunks(_evidence, sites, _latencies, [&](Supposition each) {
      found.push_back(std::move(each));
      return found.size() < most;
    });
    return found;
  }

  CountingProber prober;
  Sites sites;

private:
  Latencies _latencies;
  Bandwidths _bandwidths;
  Crowds _crowds;
  Evidence _evidence;
};

constexpr auto no_limit = std::numeric_limits<std::size_t>::max();

/// Five sites with a link from the first to the second, and one from the fourth to the third, that
/// their hosts fill.
Topology two_links() {
  auto net = pairs_of_hosts(5);
  add_link(net, 0, 1, Rate(8e6));
  add_link(net, 3, 2, Rate(12e6));
  return net;
}

} // namespace

TEST_CASE("links between two sites each are supposed from several crowds of all sites") {
  const auto net = two_links();
  const auto found = Watched(net, no_limit).suppose(no_limit, no_limit);
  REQUIRE(found.size() == 2);
  CHECK(found[0].trunk.from == std::vector<HostId>{0, 1});
  CHECK(found[0].trunk.to == std::vector<HostId>{2, 3});
  CHECK(found[0].trunk.capacity.value() == Approx(8e6).epsilon(0.1));
  CHECK(found[0].crowds == 2); // one in which both hosts send there, and one in which one does
  CHECK(found[1].trunk.from == std::vector<HostId>{6, 7});
  CHECK(found[1].trunk.to == std::vector<HostId>{4, 5});
  CHECK(found[1].trunk.capacity.value() == Approx(12e6).epsilon(0.1));
  CHECK(found[1].crowds == 1);
  for (const auto& each : found) {
    CHECK(each.site_pairs == 1);
    CHECK(each.is_even);
    CHECK(!each.is_joint);
    CHECK(each.trunk.crowd.size() == 2);
  }
}

TEST_CASE("a link that all flows of a site share is supposed once, not for each of its crowds") {
  constexpr std::size_t sites = 5;
  auto net = pairs_of_hosts(sites);
  Link link{"uplink", network::Matrix<char>(net.egress.size(), 0), Rate(9e6)};
  for (HostId other = 2; other < net.hosts(); ++other)
    link.carries(0, other) = link.carries(1, other) = 1;
  net.links.push_back(link);
  const auto found = Watched(net, no_limit).suppose(no_limit, no_limit);
  REQUIRE(found.size() == 1);
  CHECK(found[0].trunk.from == std::vector<HostId>{0, 1});
  CHECK(found[0].trunk.to == std::vector<HostId>{2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(found[0].trunk.capacity.value() == Approx(9e6).epsilon(0.1));
  CHECK(found[0].crowds == sites);
  CHECK(found[0].site_pairs == sites - 1);
  CHECK(found[0].is_joint); // in the crowd in which its hosts send to different sites
}

TEST_CASE("supposing looks at pairs of sites that crowds have flows of, not at all pairs") {
  constexpr std::size_t sites = 40, crowds = 2;
  auto net = pairs_of_hosts(sites);
  add_link(net, 0, 32, Rate(8e6)); // The first crowd is a shift by the highest power of two.
  Watched watched(net, crowds);
  CHECK(watched.suppose(no_limit, no_limit).size() == 1);
  const std::size_t parts = 2 * sites, pairs = crowds * sites, few = 8;
  CHECK(watched.prober.looks <= crowds + parts + pairs + few);
}

TEST_CASE("supposing ends when time does, or when no more is wanted") {
  const auto net = two_links();
  Watched watched(net, no_limit);
  const auto all = watched.suppose(no_limit, no_limit).size();
  const auto looks = watched.prober.looks;
  REQUIRE(all == 2);
  std::size_t before = 0;
  for (std::size_t most = 0; most <= looks; ++most) {
    const auto found = watched.suppose(most, no_limit).size();
    CHECK(watched.prober.looks <= most + 1);
    CHECK(found >= before);
    before = found;
  }
  CHECK(watched.suppose(0, no_limit).empty());
  CHECK(before == all);
  CHECK(watched.suppose(no_limit, 1).size() == 1);
}
