#include "network/network.hpp"
#include "networks.hpp"
#include "unit/error_of.hpp"

#include <doctest/doctest.h>
#include <functional>
#include <set>
#include <stdexcept>

namespace thalweg::network::test {
namespace {

using thalweg::test::error_of;

std::string error_after(const std::function<void(Network&)>& change) {
  Network network = full_network();
  change(network);
  return error_of([&] { validate(network); });
}

} // namespace

TEST_CASE("hosts are found by name") {
  const Network network = full_network();
  CHECK(network.find("east0") == 2);
  CHECK(network.find("north0") == no_host);
  CHECK(network.size() == 4);
}

TEST_CASE("each host has a site, where sites are known") {
  Network network = even_network(4, Time(0.001), Rate(1e6));
  network.sites = {{2}, {0, 3}, {1}};
  CHECK(sites_of_hosts(network, -1) == std::vector<std::int32_t>{1, 2, 0, 1});
  network.sites.clear();
  CHECK(sites_of_hosts(network, -1) == std::vector<std::int32_t>{-1, -1, -1, -1});
  CHECK(sites_of_hosts(network, 0) == std::vector<std::int32_t>{0, 0, 0, 0});
}

TEST_CASE("a transfer takes the latency and the bytes over the bandwidth") {
  Network network = full_network();
  network.latency.set(0, 2, Time(0.25));
  network.bandwidth.set(0, 2, Rate(1000));
  CHECK(network.transfer_time(0, 2, 500) == Time(0.75));
}

TEST_CASE("an even network") {
  const Network network = even_network(3, Time(0.001), Rate(1e6));
  CHECK(network.size() == 3);
  CHECK(network.sites == std::vector<std::vector<HostId>>{{0, 1, 2}});
  CHECK(network.trunks.empty());
  for (HostId i = 0; i < 3; ++i)
    for (HostId j = 0; j < 3; ++j) {
      CHECK(network.latency(i, j) == Time(i == j ? 0 : 0.001));
      CHECK(network.bandwidth(i, j) == (i == j ? Rate::infinity() : Rate(1e6)));
    }
  CHECK_THROWS_AS(even_network(0, Time(0), Rate(1)), std::invalid_argument);
  CHECK_THROWS_AS(even_network(2, Time(-1), Rate(1)), std::invalid_argument);
}

TEST_CASE("what is wrong is named by its hosts") {
  CHECK(error_after([](Network&) {}) == "none");
  CHECK(error_after([](Network& n) { n = {}; }) == "the network has no hosts: list at least one");
  CHECK(error_after([](Network& n) { n.latency.set(0, 3, Time(-1)); }) ==
        "latency west0 -> east1 is -1s: must be at least 0 and at most 1e12 s");
  CHECK(error_after([](Network& n) { n.latency.set(3, 0, Time::infinity()); }) ==
        "latency east1 -> west0 is infinite: must be at least 0 and at most 1e12 s");
  CHECK(error_after([](Network& n) { n.latency.set(1, 1, Time(0.0 / 0.0)); }) ==
        "latency west1 -> west1 is not a number: must be at least 0 and at most 1e12 s");
  CHECK(error_after([](Network& n) { n.bandwidth.set(2, 1, Rate(0)); }) ==
        "bandwidth east0 -> west1 is 0bps: must be above 0");
  CHECK(error_after([](Network& n) { n.hosts[1].name = ""; }) ==
        "host number 1 has no name: give it one");
  CHECK(error_after([](Network& n) { n.hosts[1].name = "east0"; }) ==
        "host east0 is listed twice: remove or rename one of them");
  CHECK(error_after([](Network& n) { n.hosts[1].egress = Rate(-1); }) ==
        "egress capacity of host west1 is -8bps: must be above 0");
  CHECK(error_after([](Network& n) { n.hosts[1].ingress = Rate(0); }) ==
        "ingress capacity of host west1 is 0bps: must be above 0");
  CHECK(error_after([](Network& n) {
          n.hosts[1].ingress = Rate(1e30);
        }).ends_with(": must be at most 1e18 B/s, or null (infinite) if unlimited"));
  CHECK(error_after([](Network& n) {
          n.latency.set(0, 3, Time(1e300));
        }).ends_with(": must be at least 0 and at most 1e12 s"));
  CHECK(error_after([](Network& n) { n.latency = Matrix<Time>(3); }) ==
        "latency matrix is of 3 hosts: the network has 4");
  CHECK(error_after([](Network& n) { n.bandwidth_error = Matrix<float>(3); }) ==
        "error of bandwidth matrix is of 3 hosts: the network has 4");
  CHECK(error_after([](Network& n) { n.latency_error = Matrix<float>(4, -1); }) ==
        "error of latency west0 -> west0 must be at least 0");
}

TEST_CASE("trunks and sites are groups of hosts") {
  CHECK(error_after([](Network& n) {
          n.trunks[0].from = {0, 7};
        }) == "\"from\" of trunk west->east names host number 7: there are 4 hosts");
  CHECK(error_after([](Network& n) { n.trunks[0].to = {}; }) ==
        "\"to\" of trunk west->east has no hosts: list at least one");
  CHECK(error_after([](Network& n) {
          n.trunks[0].to = {2, 3, 2};
        }) == "\"to\" of trunk west->east names host east0 a second time");
  CHECK(error_after([](Network& n) {
          n.trunks[0].to = {2, 0};
        }) == "\"to\" of trunk west->east names host west0 a second time");
  CHECK(error_after([](Network& n) { n.trunks[0].capacity = Rate(0); }) ==
        "capacity of trunk west->east is 0bps: must be above 0");
  CHECK(error_after([](Network& n) { n.trunks[0].name = ""; }) ==
        "a trunk has no name: give it one");
  CHECK(error_after([](Network& n) { n.trunks.push_back(n.trunks[0]); }) ==
        "trunk west->east is listed twice: remove or rename one of them");
  CHECK(error_after([](Network& n) {
          n.sites = {{0, 1}, {2}};
        }) == "host east1 is in no site: add it to one, or leave out all sites");
  CHECK(error_after([](Network& n) {
          n.sites = {{0, 1}, {1, 2, 3}};
        }) == "site number 1 names host west1 a second time");
  CHECK(error_after([](Network& n) { n.sites = {}; }) == "none");
}

TEST_CASE("declared groups are nested or disjoint") {
  CHECK(error_after([](Network& n) {
          n.groups = {{"a", {0, 1, 2}}, {"b", {1}}, {"c", {3}}};
        }) == "none");
  CHECK(error_after([](Network& n) {
          n.groups = {{"a", {0, 1}}, {"b", {1, 2}}};
        }) ==
        "groups a and b share some of their hosts: one must contain the other, or none of it");
  CHECK(error_after([](Network& n) {
          n.groups = {{"a", {0, 9}}};
        }) == "group a names host number 9: there are 4 hosts");
  CHECK(error_after([](Network& n) {
          n.groups = {{"a", {}}};
        }) == "group a has no hosts: list at least one");
  CHECK(error_after([](Network& n) {
          n.groups = {{"a", {0}}, {"a", {1}}};
        }) == "group a is listed twice: remove or rename one of them");
  CHECK(error_after([](Network& n) {
          n.groups = {{"a", {0, 1, 2, 3}}, {"b", {2, 3}}, {"c", {3}}, {"d", {1, 3}}};
        }) ==
        "groups b and d share some of their hosts: one must contain the other, or none of it");
  CHECK(error_after([](Network& n) { n.initial_window = -1; }) ==
        "the initial window is -1 bytes: must be at least 0");
}

TEST_CASE("the class of a group counts for all groups around it") {
  using network::NetworkClass;
  CHECK(error_after([](Network& n) {
          n.groups = {{"in", {3}, NetworkClass::lan},
                      {"between", {2, 3}},
                      {"out", {0, 1, 2, 3}, NetworkClass::cluster}};
        }) == "group in is declared a LAN, but group out, which contains it, only a cluster: give "
              "out the class of its worst links");
}

TEST_CASE("there are limits to the numbers of trunks and groups") {
  CHECK(error_after([](Network& n) {
          for (std::size_t i = 0; i <= network::most_trunks; ++i)
            n.trunks.push_back({"t" + std::to_string(i), {0}, {1}, units::Rate(1)});
        }).find("trunks: at most 1024 are supported") != std::string::npos);
  CHECK(error_after([](Network& n) {
          n.groups.clear();
          for (std::size_t i = 0; i <= network::most_groups; ++i)
            n.groups.push_back({"g" + std::to_string(i), {0}});
        }) == "the network has 4097 groups: at most 4096 are supported");
}

TEST_CASE("a group's class is not above that of a group around it") {
  CHECK(error_after([](Network& n) {
          n.groups = {{"a", {0, 1, 2}, NetworkClass::heavy_wan}, {"b", {1, 2}, NetworkClass::lan}};
        }) == "none");
  CHECK(error_after([](Network& n) {
          n.groups = {{"b", {1, 2}, NetworkClass::light_wan}, {"a", {0, 1, 2}, NetworkClass::lan}};
        }) == "group b is declared a light WAN, but group a, which contains it, only a LAN: give a "
              "the class of its worst links");
  CHECK(parse_network_class("heavy WAN") == NetworkClass::heavy_wan);
  CHECK_THROWS_WITH_AS(parse_network_class("host"),
                       "\"host\" is no class of network: must be \"cluster\", \"LAN\", \"light "
                       "WAN\" or \"heavy WAN\"",
                       std::invalid_argument);
}

TEST_CASE("costs and native times are finite") {
  CHECK(error_after([](Network& n) { n.message_costs["mpich"].send = Time(-1); }) ==
        "message costs of mpich contain -1s: must be finite and at least 0");
  CHECK(error_after([](Network& n) { n.message_costs["mpich"].eager_limit = -1; }) ==
        "eager limit of mpich is -1: must be at least 0");
  CHECK(error_after([](Network& n) { n.native_times[0].time = Time(0); }) ==
        "native time of openmpi's bcast is 0s: must be finite and above 0");
  CHECK(error_after([](Network& n) { n.native_times[0].size = -1; }) ==
        "native time of openmpi's bcast is for -1 bytes: must be at least 0");
  CHECK(error_after([](Network& n) {
          n.native_times[0].size = Size{1} << 62;
        }).ends_with("bytes: what all pairs of hosts exchange must be at most 2^58"));
  CHECK(error_after([](Network& n) { n.native_times[0].library = ""; }) ==
        "a native time lacks its library or its collective: name both");
}

TEST_CASE("the fingerprint tells apart what planning reads, and nothing else") {
  const Network original = full_network();
  const std::vector<std::function<void(Network&)>> changes{
      [](Network& n) { n.hosts[0].name = "west9"; },
      [](Network& n) { n.hosts[0].egress = Rate(1); },
      [](Network& n) { n.hosts[0].ingress = Rate(1); },
      [](Network& n) { n.latency.set(0, 1, Time(1)); },
      [](Network& n) { n.bandwidth.set(0, 1, Rate(1)); },
      [](Network& n) { n.trunks[0].capacity = Rate(1); },
      [](Network& n) { n.trunks[0].senders = 1; },
      [](Network& n) { n.trunks[0].from = {0}; },
      [](Network& n) { std::swap(n.trunks[0].from, n.trunks[0].to); },
      [](Network& n) { n.sites.clear(); },
      [](Network& n) { n.message_costs["mpich"] = {}; },
      [](Network& n) { n.message_costs["openmpi"].eager_limit = 1; },
      [](Network& n) { n.message_costs["openmpi"].handshake = Time(9); },
      [](Network& n) { n.native_times[0].time = Time(9); },
      [](Network& n) { n.native_times.clear(); },
      [](Network& n) { n.latency_error = Matrix<float>(n.hosts.size(), 0.5F); },
      [](Network& n) { n.bandwidth_error = Matrix<float>(n.hosts.size(), 0.5F); }};
  std::set<std::uint64_t> seen{fingerprint(original)};
  for (const auto& change : changes) {
    Network changed = original;
    change(changed);
    CHECK(seen.insert(fingerprint(changed)).second);
  }
  Network same = original;
  same.measured_at = same.measured_with = "";
  same.clock = Clock::ptp;
  same.latency.set(0, 0, Time(-0.0));
  CHECK(fingerprint(same) == fingerprint(original));
}

} // namespace thalweg::network::test
