#include "bench/cuts.hpp"
#include "probe/outline.hpp"
#include "probe/trunk_search.hpp"

#include <doctest/doctest.h>
#include <set>

using namespace thalweg;
using namespace thalweg::probe;
using namespace thalweg::probe::simulated;
using doctest::Approx;

namespace {

/// Four sites of four hosts in a chain whose middle carries half of what one host sends.
Topology narrow_chain() {
  constexpr HostId sites = 4, size = 4;
  constexpr auto hosts = static_cast<std::size_t>(sites * size);
  Topology net{"chain",
               network::Matrix<Time>(hosts),
               network::Matrix<Rate>(hosts, Rate(12.5e6)),
               std::vector<Rate>(hosts, Rate(12.5e6)),
               std::vector<Rate>(hosts, Rate(12.5e6)),
               {}};
  Link right{"right", network::Matrix<char>(hosts, 0), Rate(6.25e6)};
  Link left{"left", network::Matrix<char>(hosts, 0), Rate(6.25e6)};
  for (HostId a = 0; a < sites * size; ++a)
    for (HostId b = 0; b < sites * size; ++b) {
      net.latency(a, b) = Time(1e-4 + 5e-3 * std::abs(a / size - b / size));
      right.carries(a, b) = a / size < 2 && b / size >= 2;
      left.carries(a, b) = a / size >= 2 && b / size < 2;
    }
  net.links = {right, left};
  return net;
}

/// Sites of 3, 5 and 8 hosts with a link of its own from each to each other.
Topology unequal_mesh() {
  const std::size_t sizes[]{3, 5, 8};
  const double latency[3][3] = {{1e-4, 4e-3, 12e-3}, {5e-3, 1e-4, 20e-3}, {12e-3, 17e-3, 1e-4}};
  const double capacity[3][3] = {{0, 25e6, 22.5e6}, {18.75e6, 0, 37.5e6}, {15e6, 50e6, 0}};
  std::vector<std::size_t> site;
  for (std::size_t s = 0; s < 3; ++s)
    site.insert(site.end(), sizes[s], s);
  const auto hosts = site.size();
  Topology net{"mesh",
               network::Matrix<Time>(hosts),
               network::Matrix<Rate>(hosts, Rate(12.5e6)),
               std::vector<Rate>(hosts, Rate(12.5e6)),
               std::vector<Rate>(hosts, Rate(12.5e6)),
               {}};
  for (std::size_t from = 0; from < 3; ++from)
    for (std::size_t to = 0; to < 3; ++to) {
      Link link{"", network::Matrix<char>(hosts, 0), Rate(capacity[from][to])};
      for (HostId a = 0; a < net.hosts(); ++a)
        for (HostId b = 0; b < net.hosts(); ++b) {
          if (site[static_cast<std::size_t>(a)] != from) continue;
          if (site[static_cast<std::size_t>(b)] != to) continue;
          net.latency(a, b) = Time(latency[from][to]);
          link.carries(a, b) = 1;
        }
      if (from != to) net.links.push_back(std::move(link));
    }
  return net;
}

/// Hosts of one site with nothing between them that limits them.
Topology one_site(std::size_t hosts) {
  return {"site",
          network::Matrix<Time>(hosts, Time(1e-4)),
          network::Matrix<Rate>(hosts, Rate(12.5e6)),
          std::vector<Rate>(hosts, Rate(12.5e6)),
          std::vector<Rate>(hosts, Rate(12.5e6)),
          {}};
}

/// Pairs of hosts that are near each other; the links of any two hosts have a rate of their own.
Topology unlike_links(unsigned seed) {
  constexpr std::size_t hosts = 8;
  std::mt19937 random(seed);
  std::uniform_real_distribution<> rate(4e6, 16e6);
  Topology net{"unlike",
               network::Matrix<Time>(hosts),
               network::Matrix<Rate>(hosts),
               std::vector<Rate>(hosts, Rate(25e6)),
               std::vector<Rate>(hosts, Rate(25e6)),
               {}};
  for (HostId a = 0; a < net.hosts(); ++a)
    for (HostId b = 0; b < net.hosts(); ++b) {
      net.latency(a, b) = Time(a / 2 == b / 2 ? 1e-4 : 5e-4);
      net.rate(a, b) = Rate(rate(random));
    }
  return net;
}

/// Gives each rack of `size` hosts an uplink and a downlink.
void add_uplinks(Topology& net, HostId size, Rate capacity) {
  for (HostId rack = 0; rack < net.hosts() / size; ++rack)
    for (const bool up : {true, false}) {
      Link link{"uplink", network::Matrix<char>(net.egress.size(), 0), capacity};
      for (HostId a = 0; a < net.hosts(); ++a)
        for (HostId b = 0; b < net.hosts(); ++b)
          if (a / size != b / size && (up ? a : b) / size == rack) link.carries(a, b) = 1;
      net.links.push_back(std::move(link));
    }
}

/// Returns the share of flows whose rate is within 10 %, of some networks.
/// @param make returns the network of a seed
template <class Make>
double share_of_rates(unsigned seeds, Time most, const Make& make) {
  std::size_t right = 0, all = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    const Topology truth = make(seed);
    const auto found = run(truth, seed, {.budget = most}).rates.bandwidths.rate;
    for (HostId a = 0; a < truth.hosts(); ++a)
      for (HostId b = 0; b < truth.hosts(); ++b) {
        if (a == b) continue;
        ++all;
        if (std::abs(found(a, b) / truth.rate(a, b) - 1) <= 0.1) ++right;
      }
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

/// Returns what a probe that found these rates writes.
network::Network written(const Topology& truth, const Rates& rates) {
  network::Network net;
  for (HostId h = 0; h < truth.hosts(); ++h)
    net.hosts.emplace_back().name = "host" + std::to_string(h);
  const auto hosts = net.hosts.size();
  net.latency = network::HostPairs<Time>(truth.latency);
  net.bandwidth = network::HostPairs<Rate>(network::Matrix<Rate>(hosts, Rate(1e9)));
  net.latency_error = net.bandwidth_error =
      network::HostPairs<float>(network::Matrix<float>(hosts, 0));
  set_rates(net, rates, 1);
  return net;
}

/// Probes the drawn networks. @return the share of cuts whose rate is within 10 %
double share_right(const Conditions& conditions) {
  constexpr double half = 0.5;
  std::size_t all = 0, right = 0;
  for (unsigned seed = 0; seed < drawn_networks; ++seed) {
    const auto truth = Drawing(seed).draw();
    const auto judgement = judge(truth, run(truth, seed, conditions), seed);
    CAPTURE(truth.name);
    CHECK(judgement.least > half);
    all += judgement.cuts, right += judgement.right;
  }
  MESSAGE(right << " of " << all << " cuts are within 10 %");
  return static_cast<double>(right) / static_cast<double>(all);
}

} // namespace

TEST_CASE("trunks between parts of the same site have names of their own") {
  auto truth = one_site(12);
  add_uplinks(truth, 4, Rate(20e6));
  const auto probed = run(truth, 1, {});
  REQUIRE(probed.sites.size() == 1);
  CHECK(probed.rates.trunks.size() > 1);
  CHECK_NOTHROW(network::validate(written(truth, probed.rates)));
}

TEST_CASE("names of trunks are unique even if a number is part of a name") {
  std::vector<network::Trunk> trunks(5);
  const char* const names[]{"a", "a", "a (2)", "a", "b"};
  for (std::size_t t = 0; t < trunks.size(); ++t)
    trunks[t].name = names[t];
  make_names_unique(trunks);
  std::set<std::string> unique;
  for (const auto& trunk : trunks)
    unique.insert(trunk.name);
  CHECK(unique.size() == trunks.size());
}

TEST_CASE("hosts that share a processor have no trunk") {
  for (const HostId hosts : {4, 5, 8})
    for (unsigned seed = 0; seed < 10; ++seed) {
      auto truth = one_site(static_cast<std::size_t>(hosts));
      Link processor{"processor", network::Matrix<char>(truth.egress.size(), 1), Rate(20e6)};
      truth.links.push_back(processor);
      const auto probed = run(truth, seed, {});
      CAPTURE(hosts);
      CAPTURE(seed);
      CHECK(probed.rates.trunks.empty());
      CHECK_NOTHROW(network::validate(written(truth, probed.rates)));
    }
}

TEST_CASE("the middle of a chain of sites is one trunk in each direction, whatever else happens") {
  const auto truth = narrow_chain();
  std::vector<HostId> first(8), second(8);
  std::iota(first.begin(), first.end(), 0);
  std::iota(second.begin(), second.end(), 8);
  for (const auto& [stray, crossed] : {std::pair(0.0, false), {0.02, false}, {0.0, true}})
    for (unsigned seed = 1; seed <= 10; ++seed) {
      const Conditions conditions{.budget = Time(15), .stray = stray, .crossed = crossed};
      const auto found = run(truth, seed, conditions).rates.trunks;
      CAPTURE(stray);
      CAPTURE(crossed);
      CAPTURE(seed);
      REQUIRE(found.size() == 2);
      for (const auto& trunk : found) {
        CHECK(
            (trunk.from == first ? trunk.to == second : trunk.from == second && trunk.to == first));
        CHECK(trunk.capacity.value() == Approx(6.25e6).epsilon(0.1));
        CHECK(trunk.senders == 1);
      }
    }
}

TEST_CASE("links from each site to each other aren't taken for one of the site") {
  const auto truth = unequal_mesh();
  std::size_t cuts = 0, right = 0;
  for (const bool unfair : {false, true})
    for (unsigned seed = 1; seed <= 10; ++seed) {
      const Conditions conditions{
          .budget = Time(60), .noise = 0.03, .crossed = unfair, .unfair = unfair};
      const auto probed = run(truth, seed, conditions);
      CAPTURE(unfair);
      CAPTURE(seed);
      const auto judgement = judge(truth, probed, seed);
      cuts += judgement.cuts, right += judgement.right;
      for (const auto& trunk : probed.rates.trunks) {
        const auto link = std::ranges::find_if(truth.links, [&](const Link& each) {
          return each.carries(trunk.from.front(), trunk.to.front()) != 0;
        });
        REQUIRE(link != truth.links.end());
        CHECK(trunk.capacity.value() == Approx(link->capacity.value()).epsilon(0.12));
        for (HostId from : trunk.from)
          for (HostId to : trunk.to)
            CHECK(link->carries(from, to) != 0);
      }
    }
  CHECK(100 * right >= 95 * cuts);
}

TEST_CASE("every flow between sites is measured where two of them are alike by chance") {
  CHECK(share_of_rates(20, Time(15), unlike_links) >= 0.98);
}

TEST_CASE("flows that filled a trunk together before it was known are measured again") {
  CHECK(share_of_rates(60, Time(3), [](unsigned seed) {
          auto net = unlike_links(seed);
          add_uplinks(net, 2, Rate(18e6));
          return net;
        }) >= 0.96);
}

TEST_CASE("drawn networks: cuts are right, and no false trunk halves a rate") {
  CHECK(share_right({}) >= 0.95);
}

TEST_CASE("drawn networks: flows that something else slows mislead nobody") {
  CHECK(share_right({.stray = 0.02}) >= 0.95);
}

TEST_CASE("drawn networks: TCP that favours near hosts misleads nearly nobody") {
  CHECK(share_right({.unfair = true}) >= 0.95);
}

TEST_CASE("drawn networks: a minute of the network's time suffices for nearly all") {
  CHECK(share_right({.budget = Time(60)}) >= 0.9);
}

TEST_CASE("where nothing is shared, looking for trunks takes a small part of the time") {
  for (unsigned seed = 0; seed < drawn_networks; ++seed) {
    auto truth = Drawing(seed).draw();
    truth.links.clear();
    const auto probed = run(truth, seed, {});
    CAPTURE(truth.name);
    CHECK(probed.rates.trunks.empty());
    CHECK(static_cast<double>(probed.spent.at("looking for trunks")) <
          0.3 * static_cast<double>(probed.spent.at("measuring bandwidth")));
  }
}

TEST_CASE("where shared trunks part the sites, the search takes a small part of the time, too") {
  double searched = 0, other = 0;
  for (unsigned seed = 0; seed < drawn_networks; ++seed) {
    const auto truth = Drawing(seed).draw();
    const bool parts_sites = !truth.name.starts_with("ring") && !truth.name.starts_with("mesh");
    if (!truth.shared || !parts_sites) continue;
    const auto probed = run(truth, seed, {});
    for (const auto& [what, time] : probed.spent)
      (what.ends_with("trunks") ? searched : other) += static_cast<double>(time);
  }
  CHECK(searched < 0.35 * other); // without the time of latencies
}

TEST_CASE("the uplinks of a star of sites take two crowds each, or less") {
  constexpr HostId sites = 6, size = 4;
  auto truth = one_site(static_cast<std::size_t>(sites * size));
  for (HostId a = 0; a < truth.hosts(); ++a)
    for (HostId b = 0; b < truth.hosts(); ++b)
      if (a / size != b / size) truth.latency(a, b) = Time(10e-3);
  add_uplinks(truth, size, Rate(25e6));
  for (unsigned seed = 0; seed < 10; ++seed) {
    const auto probed = run(truth, seed, {});
    CAPTURE(seed);
    CHECK(probed.rates.trunks.size() == 2 * sites);
    for (const auto& trunk : probed.rates.trunks) {
      CHECK(trunk.from.size() + trunk.to.size() == truth.egress.size());
      CHECK(trunk.capacity.value() == Approx(25e6).epsilon(0.1));
    }
    const auto crowd = 7.5 * 20e-3;                    // seconds
    const auto most = crowd * (2 * 2 * sites + sites); // and the first ones
    CHECK(static_cast<double>(probed.spent.at("looking for trunks")) < most * 1e9);
  }
}
