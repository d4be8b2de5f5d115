#include "probe/identity.hpp"

#include <doctest/doctest.h>
#include <stdexcept>
#include <unistd.h>

using namespace thalweg::probe;

namespace {

const std::vector<Identity> three{
    {"a", "boot-1", "10", 5}, {"b", "boot-2", "10", 5}, {"c", "boot-3", "10", 5}};
const std::vector<std::string> listed{"10.0.0.1", "10.0.0.2", "10.0.0.3"};

} // namespace

TEST_CASE("hosts are called what they call themselves") {
  CHECK(host_names(three, listed, false) == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("two names of one machine are both named") {
  auto hosts = three;
  hosts[2].boot = hosts[0].boot, hosts[2].name = "a";
  CHECK_THROWS_WITH(host_names(hosts, listed, false),
                    doctest::Contains("10.0.0.1 and 10.0.0.3 are the same machine"));
  CHECK_THROWS_WITH(host_names(hosts, {}, false), doctest::Contains("rank 0 and rank 2"));
  CHECK(host_names(hosts, listed, true) == std::vector<std::string>{"a", "b#1", "a#2"});
}

TEST_CASE("network namespaces of one machine are hosts of their own") {
  auto hosts = three;
  hosts[1].boot = hosts[2].boot = hosts[0].boot;
  hosts[1].network = "11", hosts[2].network = "12";
  CHECK(host_names(hosts, listed, false) == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("two machines of one name are refused") {
  auto hosts = three;
  hosts[1].name = "a";
  CHECK_THROWS_WITH(host_names(hosts, listed, false), doctest::Contains("both call themselves a"));
}

TEST_CASE("hosts that aren't the network's of their rank are named") {
  auto network =
      thalweg::network::even_network(3, thalweg::units::Time(1e-3), thalweg::units::Rate(1e6));
  for (std::size_t host = 0; host < 3; ++host)
    network.hosts[host].name = std::vector<std::string>{"A.example.org", "B", "c"}[host];
  const auto wrong = [&](const std::vector<std::string>& names) {
    return wrong_host(names, listed, network);
  };
  CHECK(wrong({"a", "b.example.org", "C"}).empty());
  CHECK(wrong({"a", "c", "b"}) == "host 10.0.0.2 calls itself c, not B");
  CHECK(wrong({"a", "b", "new"}) == "host 10.0.0.3 calls itself new, not c");
  CHECK(wrong({"a", "b"}) == "there are 2, not 3");
}

TEST_CASE("a clock is shared by those whose kernel booted at the same instant") {
  auto hosts = three;
  CHECK(share_clock(hosts));
  hosts[2].clock_origin += 3'000; // readings are not exact
  CHECK(share_clock(hosts));
  hosts[2].clock_origin += 1'000'000;
  CHECK_FALSE(share_clock(hosts));
}

TEST_CASE("processes of one machine agree on the origin of their clock") {
  const std::vector<Identity> twice{identify(), identify()};
  CHECK(share_clock(twice));
}

TEST_CASE("this process has an identity that survives being sent") {
  const auto self = identify();
  CHECK_FALSE(self.name.empty());
  const auto copy = identity_from_text(to_text(self));
  CHECK(copy.name == self.name);
  CHECK(copy.boot == self.boot);
  CHECK(copy.network == self.network);
  CHECK(copy.clock_origin == self.clock_origin);
}
