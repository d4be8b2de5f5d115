#include "probe/sites.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <random>

using namespace thalweg;
using network::HostId;
using network::Matrix;
using probe::find_sites;
using units::Time;
using Sites = std::vector<std::vector<HostId>>;

namespace {

/// Latencies of hosts whose sites are given by `site_of`, each with up to `noise` added.
Matrix<Time> latencies(const std::vector<int>& site_of, double inside, double between, double noise,
                       unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> factor(1.0, 1.0 + noise);
  Matrix<Time> latency(site_of.size());
  const auto hosts = static_cast<HostId>(site_of.size());
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = 0; b < hosts; ++b) {
      const bool same =
          site_of[static_cast<std::size_t>(a)] == site_of[static_cast<std::size_t>(b)];
      if (a != b) latency(a, b) = Time((same ? inside : between) * factor(random));
    }
  return latency;
}

Sites expected_sites(const std::vector<int>& site_of) {
  Sites sites;
  std::vector<int> seen;
  for (std::size_t host = 0; host < site_of.size(); ++host) {
    const auto known = std::find(seen.begin(), seen.end(), site_of[host]);
    if (known == seen.end()) seen.push_back(site_of[host]), sites.emplace_back();
    const auto index =
        static_cast<std::size_t>(std::find(seen.begin(), seen.end(), site_of[host]) - seen.begin());
    sites[index].push_back(static_cast<HostId>(host));
  }
  return sites;
}

} // namespace

TEST_CASE("sites are found however hosts are numbered") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<int> site_of;
    const int sites = 2 + static_cast<int>(seed % 4);
    for (int site = 0; site < sites; ++site)
      site_of.insert(site_of.end(), 2 + random() % 6, site);
    std::shuffle(site_of.begin(), site_of.end(), random);
    CHECK(find_sites(latencies(site_of, 1e-4, 1e-2, 0.5, seed)) == expected_sites(site_of));
  }
}

TEST_CASE("hosts that are all alike are one site") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const std::vector<int> site_of(2 + seed % 15, 0);
    CHECK(find_sites(latencies(site_of, 1e-4, 1e-4, 0.8, seed)) == expected_sites(site_of));
  }
}

TEST_CASE("one, two and no hosts are at most one site") {
  CHECK(find_sites(Matrix<Time>(0)).empty());
  CHECK(find_sites(Matrix<Time>(1)) == Sites{{0}});
  CHECK(find_sites(latencies({0, 1}, 1e-4, 1, 0, 1)) == Sites{{0, 1}});
}

TEST_CASE("a lone host far from all others is a site of its own") {
  CHECK(find_sites(latencies({0, 0, 1, 0}, 1e-4, 1e-2, 0.1, 1)) == Sites{{0, 1, 3}, {2}});
}

TEST_CASE("a gap that isn't clear makes no sites") {
  CHECK(find_sites(latencies({0, 0, 1, 1}, 1e-4, 1.9e-4, 0, 1)) == Sites{{0, 1, 2, 3}});
  CHECK(find_sites(latencies({0, 0, 1, 1}, 1e-4, 2.1e-4, 0, 1)) == Sites{{0, 1}, {2, 3}});
}

TEST_CASE("a faint gap makes sites of three hosts or more, if nearly all links agree") {
  const std::vector<int> two{0, 0, 0, 1, 1, 1};
  CHECK(find_sites(latencies(two, 1e-4, 1.5e-4, 0.1, 1)) == Sites{{0, 1, 2}, {3, 4, 5}});
  CHECK(find_sites(latencies(two, 1e-4, 1.15e-4, 0, 1)) == Sites{{0, 1, 2, 3, 4, 5}});
  CHECK(find_sites(latencies(two, 1e-4, 1.5e-4, 0.5, 1)) == Sites{{0, 1, 2, 3, 4, 5}});
  // One long link in twenty-eight inside two sites of eight is odd, not a reason to see one site.
  const std::vector<int> large{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  auto latency = latencies(large, 1e-4, 1.5e-4, 0.02, 1);
  latency(0, 5) = latency(5, 0) = Time(1.45e-4);
  CHECK(find_sites(latency) == expected_sites(large));
}

TEST_CASE("pairs that were not measured don't matter") {
  const std::vector<int> two{0, 0, 0, 1, 1, 1};
  auto latency = latencies(two, 1e-4, 1e-2, 0.1, 1);
  latency(0, 2) = latency(2, 0) = latency(1, 4) = latency(4, 1) = Time(0);
  CHECK(find_sites(latency) == Sites{{0, 1, 2}, {3, 4, 5}});
}

TEST_CASE("hosts in a row are no sites, even if the last gap is wide") {
  // The last host is 2.5 from the one before it, which is farther (3) from the first one.
  const std::vector<double> position{0, 1, 2, 3, 5.5};
  Matrix<Time> latency(position.size());
  for (HostId a = 0; a < 5; ++a)
    for (HostId b = 0; b < 5; ++b)
      latency(a, b) = Time(
          std::abs(position[static_cast<std::size_t>(a)] - position[static_cast<std::size_t>(b)]));
  CHECK(find_sites(latency) == Sites{{0, 1, 2, 3, 4}});
}
