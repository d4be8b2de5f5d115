#include "network/hierarchy.hpp"
#include "networks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <set>
#include <stdexcept>

namespace thalweg::network::test {
namespace {

using Groups = std::vector<HostGroup>;

/// A network whose latencies have the levels that `level` gives, k = 4, for messages without
/// content.
template <class Level>
Network leveled(HostId hosts, const Level& level) {
  Network net = even_network(hosts, Time(1), Rate(1e9));
  for (HostId i = 0; i < hosts; ++i)
    for (HostId j = 0; j < hosts; ++j)
      if (i != j) net.latency.set(i, j, Time(1.5 * std::pow(4, level(i, j))));
  net.latency.set(0, 1, Time(1)); // so that the least is just that
  return net;
}

const HierarchyOptions no_content{.size = 0};

/// Hosts in racks of random sizes, racks in two rooms, with asymmetric noise.
Network random_racks(std::mt19937& random, HostId hosts) {
  std::vector<int> rack;
  for (HostId host = 0; host < hosts; ++host)
    rack.push_back(static_cast<int>(random() % 5));
  Network net = even_network(hosts, Time(1e-4), Rate(1e8));
  for (HostId i = 0; i < hosts; ++i)
    for (HostId j = 0; j < hosts; ++j) {
      if (i == j) continue;
      const int a = rack[static_cast<std::size_t>(i)], b = rack[static_cast<std::size_t>(j)];
      const double base = a == b ? 1e-4 : a % 2 == b % 2 ? 5e-4 : 4e-3;
      net.latency.set(i, j, Time(base * (1 + static_cast<double>(random() % 1000) / 500)));
    }
  return net;
}

void check_invariants(const Network& net, const HierarchyOptions& options) {
  const Hierarchy hierarchy(net, options);
  const Levels m = performance(net, options.size, options.base, options.scale);
  const auto& levels = hierarchy.levels();
  CHECK(levels.front().groups.size() == net.hosts.size());
  CHECK(levels.back().groups.size() == 1);
  CHECK(levels.size() <= 1 + static_cast<std::size_t>(std::bit_width(net.hosts.size() - 1)));
  for (std::size_t level = 0; level < levels.size(); ++level) {
    std::set<HostId> seen;
    for (const HostGroup& group : levels[level].groups) {
      seen.insert(group.begin(), group.end());
      for (const HostId a : group)
        for (const HostId b : group) {
          if (options.adjust == Adjust::close) CHECK(m(a, b) <= levels[level].boundary);
          CHECK(hierarchy.distance(a, b) <= static_cast<std::int32_t>(level));
        }
      if (level == 0) continue;
      for (const HostGroup& below : levels[level - 1].groups) { // nested
        const auto inside = std::ranges::count_if(
            below, [&](HostId host) { return std::ranges::binary_search(group, host); });
        CHECK((inside == 0 || inside == std::ssize(below)));
      }
    }
    CHECK(seen.size() == net.hosts.size());
    if (level > 0) CHECK(levels[level].groups.size() <= levels[level - 1].groups.size() / 2);
  }
}

} // namespace

TEST_CASE("levels are multiples of k times the least value, or powers of k") {
  Matrix<Time> values(3, Time(1));
  values(0, 1) = Time(3.9);
  values(1, 0) = Time(4.1);
  values(0, 2) = Time(17);
  values(2, 0) = Time(0);
  for (const auto& [scale, highest] : {std::pair{Scale::linear, 4}, {Scale::logarithmic, 2}}) {
    const Levels levels = discretise(values, 4, scale);
    CHECK(levels(0, 1) == 0);
    CHECK(levels(1, 0) == 1);
    CHECK(levels(0, 2) == highest);
    CHECK(levels(2, 0) == 0);
    CHECK(levels(1, 1) == 0);
    CHECK(asymmetric_share(levels) == doctest::Approx(2.0 / 3));
  }
  values(0, 2) = Time(1e300);
  CHECK(discretise(values, 4)(0, 2) == 1 << 30);

  Matrix<Rate> rates(2, Rate(100));
  rates(1, 0) = Rate(20);
  CHECK(discretise(rates, 4)(0, 1) == 0);
  CHECK(discretise(rates, 4)(1, 0) == 1);
}

TEST_CASE("groups are put together as wholes") {
  // Pairs at level 0, {01}-{23} at level 3, all else at 1.
  const Network net = leveled(8, [](HostId i, HostId j) {
    const HostId a = std::min(i, j) / 2, b = std::max(i, j) / 2;
    return a == b ? 0 : a == 0 && b == 1 ? 3 : 1;
  });
  const Hierarchy hierarchy(net, {.size = 0, .scale = Scale::logarithmic});
  REQUIRE(hierarchy.levels().size() == 4);
  CHECK(hierarchy.levels()[1] == Grouping{0, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}});
  CHECK(hierarchy.levels()[2] == Grouping{1, {{0, 1, 4, 5}, {2, 3, 6, 7}}});
  CHECK(hierarchy.levels()[3].boundary == 3);
  CHECK(hierarchy.distance(0, 0) == 0);
  CHECK(hierarchy.distance(0, 1) == 1);
  CHECK(hierarchy.distance(0, 5) == 2);
  CHECK(hierarchy.distance(0, 2) == 3);
}

TEST_CASE("hosts that are all alike form one group, a tree its own") {
  const Hierarchy alike(even_network(7, Time(1e-3), Rate(1e6)));
  REQUIRE(alike.levels().size() == 2);
  CHECK(alike.levels()[1].groups == Groups{{0, 1, 2, 3, 4, 5, 6}});

  const Network tree = leveled(12, [](HostId i, HostId j) {
    return i / 3 == j / 3 ? 0 : i / 6 == j / 6 ? 1 : 2; // racks of 3, rooms of 2 racks
  });
  const Hierarchy hierarchy(tree, no_content);
  REQUIRE(hierarchy.levels().size() == 4);
  CHECK(hierarchy.levels()[1].groups == Groups{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}});
  CHECK(hierarchy.levels()[2].groups == Groups{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}});
}

TEST_CASE("groups nest, are close, and halve in number") {
  std::mt19937 random(1);
  for (int k = 0; k < 60; ++k) {
    const Network net = random_racks(random, 2 + static_cast<HostId>(random() % 30));
    for (const Adjust adjust : {Adjust::close, Adjust::printed})
      for (const std::int32_t span : {0, 1, 4}) {
        const double base = std::array{1.3, 2.0, 4.0}[random() % 3];
        const Scale scale = random() % 2 == 0 ? Scale::linear : Scale::logarithmic;
        check_invariants(
            net, {.size = 1000, .base = base, .most_span = span, .adjust = adjust, .scale = scale});
      }
  }
}

TEST_CASE("groups are adjusted only as far as hosts stay close") {
  // Racks of 5 and 2; host 4 is as close to the other rack as to its own.
  const auto rack = [](HostId host) { return host < 5 ? 0 : 1; };
  const Network net = leveled(
      7, [&](HostId i, HostId j) { return rack(i) == rack(j) || i == 4 || j == 4 ? 0 : 2; });
  const auto groups = [&](std::int32_t span, Adjust adjust) {
    return Hierarchy(net, {.size = 0, .most_span = span, .adjust = adjust}).levels()[1].groups;
  };
  CHECK(groups(3, Adjust::close) == Groups{{0, 1, 2, 3, 4}, {5, 6}});
  CHECK(groups(1, Adjust::close) == Groups{{0, 1, 2, 3}, {4, 5, 6}});
  CHECK(groups(0, Adjust::printed) == Groups{{0, 1, 2, 3}, {4, 5, 6}}); // sizes 4 and 3: it ends
}

TEST_CASE("declared groups are kept whole") {
  Network net = even_network(6, Time(1e-3), Rate(1e6));
  net.groups = {{"organisation", {3, 1, 5, 4}}, {"room", {5, 3}}};
  validate(net);
  const Hierarchy hierarchy(net);
  const auto has = [&](const HostGroup& wanted) {
    return std::ranges::any_of(hierarchy.levels(), [&](const Grouping& level) {
      return std::ranges::find(level.groups, wanted) != level.groups.end();
    });
  };
  CHECK(has({3, 5}));
  CHECK(has({1, 3, 4, 5}));
  CHECK(hierarchy.levels().back().groups == Groups{{0, 1, 2, 3, 4, 5}});
  CHECK(hierarchy.distance(3, 5) < hierarchy.distance(3, 1));
  CHECK(hierarchy.distance(3, 1) < hierarchy.distance(3, 0));
}

TEST_CASE("what can't make a hierarchy is refused") {
  const Network net = even_network(2, Time(1), Rate(1));
  CHECK_THROWS_AS(Hierarchy(net, {.base = 1}), std::invalid_argument);
  CHECK_THROWS_AS(Hierarchy(net, {.most_span = -1}), std::invalid_argument);
  CHECK(Hierarchy(even_network(1, Time(1), Rate(1))).levels().size() == 1);
}

TEST_CASE("levels are classes of networks") {
  const auto site = [](HostId host) { return host / 2; };
  Network net = even_network(8, Time(1e-4), Rate(1e9));
  for (HostId i = 0; i < 8; ++i)
    for (HostId j = 0; j < 8; ++j)
      if (site(i) != site(j))
        net.latency.set(i, j, Time(site(i) / 2 == site(j) / 2 ? 5e-3 : 80e-3));
  const Hierarchy hierarchy(net, no_content);
  const std::vector<NetworkClass> expected{NetworkClass::host, NetworkClass::cluster,
                                           NetworkClass::light_wan, NetworkClass::light_wan};
  CHECK(classes(hierarchy, net) == expected);
  net.latency.set(0, 5, Time(300e-3));
  CHECK(classes(Hierarchy(net, no_content), net).back() == NetworkClass::heavy_wan);
  CHECK(units::name_of(NetworkClass::heavy_wan) == "heavy WAN");
}

TEST_CASE("declared classes come before latencies") {
  // Two organisations of two sites of two hosts: 0.1 ms, 5 ms, 80 ms.
  Network net = even_network(8, Time(1e-4), Rate(1e9));
  for (HostId i = 0; i < 8; ++i)
    for (HostId j = 0; j < 8; ++j)
      if (i / 2 != j / 2) net.latency.set(i, j, Time(i / 4 == j / 4 ? 5e-3 : 80e-3));
  // Returns the class of the group of exactly these hosts.
  const auto class_of = [&](const HostGroup& hosts, std::vector<DeclaredGroup> groups) {
    net.groups = std::move(groups);
    const Hierarchy hierarchy(net, no_content);
    const auto found = group_classes(hierarchy, net);
    for (std::size_t level = 0; level < found.size(); ++level)
      for (std::size_t at = 0; at < found[level].size(); ++at)
        if (hierarchy.levels()[level].groups[at] == hosts) return found[level][at];
    FAIL("no such group");
    return NetworkClass::host;
  };
  using enum NetworkClass;
  const HostGroup site{0, 1}, first{0, 1, 2, 3}, second{4, 5, 6, 7}, all{0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(class_of(first, {}) == light_wan);
  // For one organisation: nothing inside it changes, unless it is above; what is around is no less.
  CHECK(class_of(first, {{"a", first, heavy_wan}}) == heavy_wan);
  CHECK(class_of(site, {{"a", first, heavy_wan}}) == cluster);
  CHECK(class_of(all, {{"a", first, heavy_wan}}) == heavy_wan);
  CHECK(class_of(first, {{"a", first, lan}}) == lan);
  CHECK(class_of(all, {{"a", first, lan}}) >= light_wan);
  // For all: each WAN inside becomes one of the kind, and nothing is above it.
  CHECK(class_of(second, {{"all", all, heavy_wan}}) == heavy_wan);
  CHECK(class_of(site, {{"all", all, heavy_wan}}) == cluster);
  CHECK(class_of(second, {{"all", all, lan}}) == lan);
  // The smallest declared group counts.
  CHECK(class_of(first, {{"all", all, heavy_wan}, {"a", first, lan}}) == lan);
  CHECK(class_of(second, {{"all", all, heavy_wan}, {"a", first, lan}}) == heavy_wan);
}

} // namespace thalweg::network::test
