#include "mapping/topology.hpp"
#include "unit/error_of.hpp"

#include <doctest/doctest.h>
#include <set>
#include <string>

namespace thalweg::mapping {
namespace {

using network::HostId;
using test::error_of;

TEST_CASE("cores are as far apart as the levels of the host between them") {
  if (!has_hwloc()) return;
  const Inside host = inside("package:2 l3cache:2 core:2 pu:2", 8);
  REQUIRE(host.cores.size() == 8);
  for (HostId a = 0; a < 8; ++a) {
    CHECK(host.cores[static_cast<std::size_t>(a)].number == a);
    CHECK(host.cores[static_cast<std::size_t>(a)].processors == std::vector{2 * a, 2 * a + 1});
    for (HostId b = 0; b < 8; ++b) {
      if (a == b) continue;
      CAPTURE(a);
      CAPTURE(b);
      const int levels = a / 2 == b / 2 ? 1 : a / 4 == b / 4 ? 2 : 3;
      CHECK(host.network.latency(a, b).value() == doctest::Approx(50e-9 * (1 << levels)));
      CHECK(host.network.bandwidth(a, b).value() == doctest::Approx(8e9 / (1 << levels)));
    }
  }
}

TEST_CASE("fewer ranks than cores are spread, more share cores evenly") {
  if (!has_hwloc()) return;
  const Inside few = inside("package:2 core:4 pu:1", 4);
  std::multiset<int> packages;
  for (const Core& core : few.cores)
    packages.insert(core.number / 4);
  CHECK(packages == std::multiset<int>{0, 0, 1, 1});
  const Inside many = inside("package:2 core:2 pu:1", 8);
  std::multiset<int> cores;
  for (const Core& core : many.cores)
    cores.insert(core.number);
  CHECK(cores == std::multiset<int>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(inside("this", 1).cores.size() == 1);
}

TEST_CASE("a topology that can't be read is refused") {
  if (!has_hwloc()) return;
  for (const char* const text : {"", "sofa:2", "missing.xml", "package:0"}) {
    CAPTURE(text);
    CHECK(error_of([&] { inside(text, 2); }).starts_with("topology \"" + std::string(text)));
  }
  CHECK(error_of([] { inside("core:2", 0); }) == "a host must have ranks to bind");
}

} // namespace
} // namespace thalweg::mapping
