#include "network/host_classes.hpp"
#include "networks.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <stdexcept>

namespace thalweg::network {
namespace {

using Pairs = HostPairs<Time>;

/// By classes that are dealt out at random, with some exceptions.
struct Case {
  Pairs blocks;
  Matrix<Time> reference;
};

Case random_case(std::mt19937& random) {
  const auto pick = [&](std::size_t below) { return static_cast<HostId>(random() % below); };
  const std::size_t hosts = 2 + random() % 40, classes = 1 + random() % 5;
  Pairs::Blocks blocks{{}, Matrix<Time>(classes), {}};
  for (std::size_t host = 0; host < hosts; ++host)
    blocks.class_of.push_back(pick(classes));
  for (HostId a = 0; std::cmp_less(a, classes); ++a) {
    blocks.self.emplace_back(pick(3));
    for (HostId b = 0; std::cmp_less(b, classes); ++b)
      blocks.values(a, b) = Time(pick(4));
  }
  Case made{Pairs(blocks), Matrix<Time>(hosts)};
  for (HostId a = 0; std::cmp_less(a, hosts); ++a)
    for (HostId b = 0; std::cmp_less(b, hosts); ++b) {
      const auto of = [&](HostId host) { return blocks.class_of[static_cast<std::size_t>(host)]; };
      made.reference(a, b) =
          a == b ? blocks.self[static_cast<std::size_t>(of(a))] : blocks.values(of(a), of(b));
    }
  for (std::size_t i = random() % 6; i > 0; --i) {
    const HostId a = pick(hosts), b = pick(hosts);
    const Time value(pick(4));
    made.blocks.set(a, b, value);
    made.reference(a, b) = value;
  }
  return made;
}

void check_same(const Pairs& pairs, const Matrix<Time>& reference) {
  REQUIRE(pairs.size() == reference.size());
  const auto hosts = static_cast<HostId>(pairs.size());
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = 0; b < hosts; ++b)
      REQUIRE(pairs(a, b) == reference(a, b));
}

} // namespace

TEST_CASE("pairs kept by blocks are those of a dense matrix, whatever is written") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    auto [blocks, reference] = random_case(random);
    check_same(blocks, reference);
    const Pairs dense = reference;
    CHECK(blocks == dense);
    CHECK(blocks.hash() == dense.hash());
    Pairs compacted = reference;
    compacted.compact(0);
    check_same(compacted, reference);
    CHECK(compacted == blocks);
    CHECK(compacted.hash() == dense.hash());
    // One value more or less.
    const auto hosts = reference.size();
    const auto a = static_cast<HostId>(random() % hosts), b = static_cast<HostId>(random() % hosts);
    Pairs other = compacted;
    other.set(a, b, Time(9));
    reference(a, b) = Time(9);
    check_same(other, reference);
    CHECK(!(other == blocks));
    CHECK(!(dense == other));
    CHECK(other.hash() != dense.hash());
    CHECK(other.hash() == Pairs(reference).hash());
    other.transform([](Time time) { return time * 2; });
    CHECK(other(a, b) == Time(18));
    other.make_dense();
    CHECK(other.is_dense());
    CHECK(other(a, b) == Time(18));
  }
}

TEST_CASE("many exceptions end in a dense matrix") {
  Pairs pairs({std::vector<std::int32_t>(20, 0), Matrix<Time>(1), {Time(0)}});
  CHECK(!pairs.is_dense());
  Matrix<Time> reference(20);
  for (HostId a = 0; a < 20; ++a)
    for (HostId b = 0; b < 20; ++b) {
      pairs.set(a, b, Time(1 + 20 * a + b));
      reference(a, b) = Time(1 + 20 * a + b);
    }
  CHECK(pairs.is_dense());
  check_same(pairs, reference);
}

TEST_CASE("what differs everywhere isn't made blocks, what is alike is") {
  Matrix<Time> all_differ(100);
  for (HostId a = 0; a < 100; ++a)
    for (HostId b = 0; b < 100; ++b)
      all_differ(a, b) = Time(100 * a + b);
  Pairs pairs = all_differ;
  pairs.compact(0);
  CHECK(pairs.is_dense());
  pairs = Matrix<Time>(100, Time(3));
  pairs.compact();
  CHECK(pairs.is_dense()); // so few hosts stay as they are
  pairs.compact(0);
  REQUIRE(!pairs.is_dense());
  CHECK(pairs.blocks().self.size() == 1);
}

TEST_CASE("a part has the same values, and values between groups are counted") {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const auto [blocks, reference] = random_case(random);
    std::vector<HostId> from, to;
    for (HostId host = 0; std::cmp_less(host, reference.size()); ++host) {
      if (random() % 2 == 0) from.push_back(host);
      if (random() % 2 == 0) to.push_back(host);
    }
    std::ranges::shuffle(from, random);
    const Pairs part = blocks.part(from);
    for (std::size_t a = 0; a < from.size(); ++a)
      for (std::size_t b = 0; b < from.size(); ++b)
        REQUIRE(part(static_cast<HostId>(a), static_cast<HostId>(b)) ==
                reference(from[a], from[b]));
    std::map<double, std::int64_t> expected, found;
    for (const HostId a : from)
      for (const HostId b : to)
        if (a != b) ++expected[reference(a, b).value()];
    for (const auto& pairs : {blocks, Pairs(reference)}) {
      found.clear();
      for (const auto& [value, number] : values_between<Time>(pairs, from, to))
        found[value.value()] += number;
      std::erase_if(found, [](const auto& each) { return each.second == 0; });
      REQUIRE(found == expected);
    }
  }
}

TEST_CASE("hosts of a class can be exchanged") {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    Network network;
    network.latency = random_case(random).blocks;
    while (network.bandwidth.size() != network.latency.size()) {
      Pairs other = random_case(random).blocks;
      if (other.size() != network.latency.size()) continue;
      HostPairs<Rate>::Blocks rates{
          other.is_dense() ? std::vector<std::int32_t>() : other.blocks().class_of, {}, {}};
      if (rates.class_of.empty()) continue;
      rates.values = Matrix<Rate>(other.blocks().self.size(), Rate(5));
      rates.self.assign(other.blocks().self.size(), Rate(7));
      network.bandwidth = HostPairs<Rate>(std::move(rates));
    }
    network.hosts.resize(network.latency.size());
    const HostClasses classes = host_classes(network);
    const auto some = representatives(classes);
    std::size_t members = 0;
    for (const auto& own : classes.members) {
      members += own.size();
      for (const HostId host : own)
        for (HostId other = 0; other < network.size(); ++other) {
          if (other == host || other == own.front()) continue;
          REQUIRE(network.latency(host, other) == network.latency(own.front(), other));
          REQUIRE(network.latency(other, host) == network.latency(other, own.front()));
          REQUIRE(network.bandwidth(host, other) == network.bandwidth(own.front(), other));
        }
      CHECK(std::ranges::count_if(some, [&](HostId host) {
              return std::ranges::binary_search(own, host);
            }) == std::min<std::ptrdiff_t>(2, std::ssize(own)));
    }
    CHECK(members == network.hosts.size());
  }
}

TEST_CASE("blocks that don't fit are refused") {
  CHECK_THROWS_AS(Pairs({{0, 1}, Matrix<Time>(1), {Time(0)}}), std::invalid_argument);
  CHECK_THROWS_AS(Pairs({{0, 0}, Matrix<Time>(2), {Time(0)}}), std::invalid_argument);
}

TEST_CASE("trunks between hosts are those that have them at their ends") {
  std::mt19937 random(4);
  for (int round = 0; round < 50; ++round) {
    Network network = even_network(12, Time(1), Rate(1));
    for (std::size_t trunk = 0; trunk < random() % 6; ++trunk) {
      Trunk made{"trunk" + std::to_string(trunk), {}, {}, Rate(1)};
      for (HostId host = 0; host < 12; ++host)
        if (const auto side = random() % 3; side < 2)
          (side == 0 ? made.from : made.to).push_back(host);
      network.trunks.push_back(made);
    }
    const TrunkSets sets(network);
    for (HostId a = 0; a < 12; ++a)
      for (HostId b = 0; b < 12; ++b) {
        std::vector<std::int32_t> expected;
        for (std::size_t trunk = 0; trunk < network.trunks.size(); ++trunk)
          if (std::ranges::count(network.trunks[trunk].from, a) > 0 &&
              std::ranges::count(network.trunks[trunk].to, b) > 0)
            expected.push_back(static_cast<std::int32_t>(trunk));
        REQUIRE(std::ranges::equal(sets.between(a, b), expected));
      }
  }
}

TEST_CASE("classes of hosts that no trunk joins take no memory") {
  // 32,768 classes: a set for each pair of them would be a billion sets.
  const HostId trunks = 16384;
  Network network = even_network(4 * trunks, Time(1), Rate(1));
  for (HostId trunk = 0; trunk < trunks; ++trunk) {
    const HostId host = 4 * trunk;
    network.trunks.push_back(
        {"trunk" + std::to_string(trunk), {host, host + 1}, {host + 2, host + 3}, Rate(1)});
  }
  validate(network);
  const TrunkSets sets(network);
  for (HostId trunk = 0; trunk < trunks; ++trunk) {
    const HostId host = 4 * trunk;
    const auto found = sets.between(host + 1, host + 2);
    REQUIRE(found.size() == 1);
    CHECK(found.front() == trunk);
    CHECK(sets.between(host + 2, host + 1).empty());
    CHECK(sets.between(host, host + 1).empty());
    CHECK(sets.between(host, (host + 6) % network.size()).empty());
  }
}

TEST_CASE("100,000 hosts in 100 sites") {
  const HostId sites = 100, each = 1000;
  Network network;
  HostPairs<Time>::Blocks latency{{}, Matrix<Time>(100, Time(10e-3)), {}};
  HostPairs<Rate>::Blocks bandwidth{{}, Matrix<Rate>(100, Rate(12.5e6)), {}};
  network.sites.resize(100);
  for (HostId site = 0; site < sites; ++site) {
    latency.values(site, site) = Time(1e-4);
    latency.self.emplace_back(0);
    bandwidth.self.push_back(Rate::infinity());
    for (HostId host = site * each; host < (site + 1) * each; ++host) {
      network.hosts.push_back({"host" + std::to_string(host), Rate(12.5e6), Rate(12.5e6)});
      network.sites[static_cast<std::size_t>(site)].push_back(host);
      latency.class_of.push_back(site);
    }
  }
  bandwidth.class_of = latency.class_of;
  network.latency = HostPairs<Time>(std::move(latency));
  network.bandwidth = HostPairs<Rate>(std::move(bandwidth));
  validate(network);
  CHECK(network.size() == 100'000);
  CHECK(network.latency(5, 999) == Time(1e-4));
  CHECK(network.latency(99'999, 0) == Time(10e-3));
  CHECK(host_classes(network).members.size() == 100);
  Network other = network;
  CHECK(fingerprint(other) == fingerprint(network));
  other.latency.set(3, 70'000, Time(1));
  CHECK(other != network);
  CHECK(fingerprint(other) != fingerprint(network));
  other.latency.set(3, 70'000, Time(10e-3));
  CHECK(other == network);
}

} // namespace thalweg::network
