#include "networks.hpp"
#include "planner/root_groups.hpp"

#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

using Groups = std::vector<std::size_t>;

TEST_CASE("hosts of a site that are alike are a group") {
  Network net = two_sites(3);
  CHECK(root_groups(net, one_each(6)) == Groups{0, 0, 0, 1, 1, 1});
  CHECK(root_groups(net, {5, 5, 0, 4}) == Groups{1, 1, 0, 1});
  CHECK(root_groups(net, {}).empty());
  net.hosts[1].egress = Rate(12.5e6 / 1.2);
  CHECK(root_groups(net, one_each(6)) == Groups{0, 0, 0, 1, 1, 1});
  net.hosts[1].egress = Rate(12.5e6 / 1.5);
  CHECK(root_groups(net, one_each(6)) == Groups{0, 1, 0, 2, 2, 2});
}

TEST_CASE("a host whose links are slow in one direction is apart, even if its ports aren't known") {
  Network net = network::even_network(5, Time(1e-3), Rate(1e6));
  for (network::Host& host : net.hosts)
    host.egress = host.ingress = Rate::infinity();
  for (HostId other = 0; other < 5; ++other)
    if (other != 2) net.bandwidth.set(2, other, Rate(5e5));
  CHECK(root_groups(net, one_each(5)) == Groups{0, 0, 1, 0, 0});
  // One slow link is no reason.
  net = network::even_network(5, Time(1e-3), Rate(1e6));
  net.bandwidth.set(2, 3, Rate(5e5));
  CHECK(root_groups(net, one_each(5)) == Groups{0, 0, 0, 0, 0});
}
