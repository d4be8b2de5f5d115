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

namespace {

/// A network of two classes, the second of which sends slowly to the first.
Network two_classes(const std::vector<std::int32_t>& class_of,
                    const std::vector<network::HostPairs<Rate>::Exception>& exceptions = {}) {
  Network net = network::even_network(static_cast<HostId>(class_of.size()), Time(1e-3), Rate(1e6));
  network::Matrix<Rate> rates(2, Rate(1e6));
  rates(1, 0) = Rate(5e5);
  const std::vector<Rate> self(2, Rate::infinity());
  net.bandwidth = network::HostPairs<Rate>({class_of, rates, self}, exceptions);
  const network::Matrix<Time> latencies(2, Time(1e-3));
  net.latency = network::HostPairs<Time>({class_of, latencies, {Time(0), Time(0)}});
  return net;
}

} // namespace

TEST_CASE("a host with links of its own isn't taken for its class") {
  const std::vector<network::HostPairs<Rate>::Exception> slow{
      {2, 0, Rate(5e5)}, {2, 1, Rate(5e5)}, {2, 3, Rate(5e5)}};
  Network net = two_classes({0, 0, 0, 0, 1, 1}, slow);
  REQUIRE(!net.bandwidth.is_dense());
  CHECK(root_groups(net, one_each(6)) == Groups{0, 0, 1, 0, 1, 1});
  net.bandwidth.make_dense();
  net.latency.make_dense();
  CHECK(root_groups(net, one_each(6)) == Groups{0, 0, 1, 0, 1, 1});
}

TEST_CASE("20,000 hosts of two classes are two groups") {
  std::vector<std::int32_t> class_of(20'000);
  Groups expected(class_of.size());
  for (std::size_t host = 0; host < class_of.size(); ++host) {
    class_of[host] = host % 2 == 0 ? 0 : 1;
    expected[host] = host % 2;
  }
  CHECK(root_groups(two_classes(class_of), one_each(20'000)) == expected);
}
