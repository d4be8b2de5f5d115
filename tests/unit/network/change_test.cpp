#include "network/change.hpp"
#include "networks.hpp"

#include <doctest/doctest.h>

namespace thalweg::network::test {
namespace {

using What = Change::What;

} // namespace

TEST_CASE("a trunk to several sites keeps its capacity where one of them is slower") {
  for (HostId to = 2; to < 8; to += 2) {
    CAPTURE(to);
    Network network = even_network(8, Time(1e-3), Rate(1e7));
    network.trunks = {{.name = "uplink", .from = {0, 1}, .to = {2, 3, 4, 5, 6, 7}},
                      {.name = "direct", .from = {0, 1}, .to = {to, to + 1}}};
    for (Trunk& trunk : network.trunks)
      trunk.capacity = Rate(2e7);
    const Change slower{.what = What::sites, .from = {0, 1}, .to = {to, to + 1}, .factor = 10};
    apply(network, slower, Quantity::bandwidth);
    CHECK(network.trunks[0].capacity == Rate(2e7));
    CHECK(network.trunks[1].capacity == Rate(2e6));
    CHECK(network.bandwidth(0, to) == Rate(1e6));
    CHECK(network.bandwidth(to, 0) == Rate(1e7));
  }
}

TEST_CASE("of two trunks between the same hosts the named one changes") {
  const Network before = full_network();
  Network network = before;
  network.trunks.push_back(before.trunks[0]);
  network.trunks.back().name = "another";
  const Change slower{
      .what = What::trunk, .from = {0, 1}, .to = {2, 3}, .trunk = "another", .factor = 8};
  apply(network, slower, Quantity::bandwidth);
  CHECK(network.trunks[0] == before.trunks[0]);
  CHECK(network.trunks[2].capacity == before.trunks[0].capacity / 8);
  CHECK(network.hosts == before.hosts);
}

TEST_CASE("at least a hundredth of a latency stays, and capacities do") {
  const Network before = full_network();
  for (const double excess : {-1.0, -1e-5, 0.5}) {
    CAPTURE(excess);
    Network network = before;
    const Change change{.what = What::egress, .from = {0}, .to = {1, 2, 3}, .excess = Time(excess)};
    apply(network, change, Quantity::latency);
    const Time usual = before.latency(0, 2);
    CHECK(network.latency(0, 2) == (excess == -1.0 ? usual / 100 : usual + Time(excess)));
    CHECK(network.latency(2, 0) == usual);
    CHECK(network.bandwidth == before.bandwidth);
    CHECK(network.hosts == before.hosts);
  }
}

} // namespace thalweg::network::test
