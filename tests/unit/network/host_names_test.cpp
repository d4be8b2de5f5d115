#include "network/host_names.hpp"

#include <doctest/doctest.h>
#include <vector>

namespace thalweg::network {
namespace {

Network of_hosts(const std::vector<std::string>& names) {
  Network network = even_network(static_cast<HostId>(names.size()), Time(1e-4), Rate(1e8));
  for (std::size_t host = 0; host < names.size(); ++host)
    network.hosts[host].name = names[host];
  return network;
}

using Names = std::vector<std::string>;

TEST_CASE("hosts are found with and without their domain") {
  CHECK(place(Names{"b", "b.site", "a.other", "a.site", "c"},
              of_hosts({"a.site", "b", "a.other"})) == Placement{1, 1, 2, 0, no_host});
}

TEST_CASE("a short name of several hosts is none of them, and addresses have no short names") {
  const Network two = of_hosts({"n1.paris", "n1.lyon", "n2.lyon"});
  CHECK(place(Names{"n1", "n1.nancy", "n1.lyon", "n2", "n2.nancy"}, two) ==
        Placement{no_host, no_host, 1, 2, 2});
  const Network addresses = of_hosts({"10.0.0.1", "10.0.0.2", "fe80::1"});
  CHECK(place(Names{"10.0.0.2", "10.0.0.9", "10", "fe80::1", "fe80::2", ""}, addresses) ==
        Placement{1, no_host, no_host, 2, no_host, no_host});
}

TEST_CASE("hosts are found whatever their capitals are") {
  CHECK(place(Names{"node1", "NODE2.site", "node3"}, of_hosts({"Node1.Site", "node2", "node30"})) ==
        Placement{0, 1, no_host});
}

TEST_CASE("names that differ by capitals only are told apart where they are written so") {
  CHECK(place(Names{"Node1", "node1"}, of_hosts({"Node1", "node1"})) == Placement{0, 1});
  CHECK(place(Names{"node1", "Node1"}, of_hosts({"node1", "Node1"})) == Placement{0, 1});
}

} // namespace
} // namespace thalweg::network
