#include "networks.hpp"
#include "simulator/narrow_ports.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <utility>
#include <vector>

using namespace thalweg::simulator;
using namespace thalweg::simulator::testing;

namespace {

/// Returns what is narrow for the first of the connections, on hosts whose CPUs take so many
/// seconds for a byte.
std::vector<PortId> narrow_for_first(double per_byte,
                                     const std::vector<std::pair<Rank, Rank>>& connections) {
  const Network net = ports_network(3);
  const Placement placement = one_each(3);
  thalweg::network::MessageCost cost;
  cost.per_byte = Time(per_byte);
  const thalweg::network::TrunkSets trunks(net);
  const Ports ports(net, placement, cost, trunks, connections);
  const NarrowPorts narrow(ports);
  const auto found = narrow.of(0);
  return {found.begin(), found.end()};
}

} // namespace

TEST_CASE("a port is narrow if its connections exceed it together") {
  // Connections and ports of 1000 B/s: egresses are ports 0 to 2, ingresses 3 to 5.
  CHECK(narrow_for_first(0, {{0, 1}}).empty());
  CHECK(narrow_for_first(0, {{0, 1}, {1, 2}, {2, 0}}).empty());
  CHECK(narrow_for_first(0, {{0, 1}, {0, 2}}) == std::vector<PortId>{0});
  CHECK(narrow_for_first(0, {{0, 1}, {2, 1}}) == std::vector<PortId>{4});
}

TEST_CASE("a CPU is narrow if the egress and ingress of its host exceed it together") {
  // CPUs are ports 6 to 8.
  CHECK(narrow_for_first(1e-3, {{0, 1}}).empty());
  CHECK(narrow_for_first(2e-3, {{0, 1}}) == std::vector<PortId>{6, 7});
  CHECK(narrow_for_first(1e-3, {{0, 1}, {2, 0}}) == std::vector<PortId>{6});
  CHECK(narrow_for_first(0.5e-3, {{0, 1}, {1, 0}}).empty());
  CHECK(narrow_for_first(0.4e-3, {{0, 1}, {0, 2}, {1, 0}, {2, 0}}) == std::vector<PortId>{0});
}
