#include "probe/sites.hpp"
#include "probe/unmet.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <random>

using namespace thalweg;
using network::HostId;
using network::Matrix;
using probe::Round;
using probe::Sites;
using units::Time;

namespace {

/// Sites in a chain.
struct Chain {
  HostId sites = 0, hosts = 0; ///< hosts of a site
  [[nodiscard]] HostId size() const { return sites * hosts; }
  [[nodiscard]] Time latency(HostId a, HostId b) const {
    const double hops = std::abs(a / hosts - b / hosts);
    return Time(hops == 0 ? 1e-4 : 1e-2 * hops);
  }
  [[nodiscard]] Sites expected() const {
    Sites result(static_cast<std::size_t>(sites));
    for (HostId host = 0; host < size(); ++host)
      result[static_cast<std::size_t>(host / hosts)].push_back(host);
    return result;
  }
};

void measure(const Chain& chain, const Round& round, Matrix<Time>& latency) {
  for (const auto [a, b] : round)
    latency(a, b) = latency(b, a) = chain.latency(a, b);
}

} // namespace

TEST_CASE("parts of a site find each other, however few rounds were measured") {
  for (const Chain chain : {Chain{4, 4}, Chain{3, 5}, Chain{4, 8}, Chain{8, 4}, Chain{4, 50}}) {
    const auto hosts = static_cast<std::size_t>(chain.size());
    CAPTURE(hosts);
    auto all = probe::rounds(chain.size());
    std::shuffle(all.begin(), all.end(), std::mt19937(1)); // NOLINT(*-msc51-cpp): repeatable
    Matrix<Time> latency(hosts);
    for (std::size_t r = 0; r < 5; ++r)
      measure(chain, all[r], latency);
    CHECK(probe::find_sites(latency) != chain.expected());
    std::size_t rounds = 0;
    for (;; ++rounds) {
      const auto round = probe::unmet(latency, probe::find_sites(latency));
      if (round.empty()) break;
      measure(chain, round, latency);
    }
    CHECK(probe::find_sites(latency) == chain.expected());
    CHECK(rounds <= 12);
  }
}

TEST_CASE("the pairs of a round are disjoint and haven't met") {
  const Chain chain{6, 3};
  Matrix<Time> latency(18);
  measure(chain, {{0, 3}, {3, 6}, {1, 2}, {9, 12}}, latency);
  const auto sites = chain.expected();
  const auto round = probe::unmet(latency, sites);
  CHECK(round.size() == 3);
  std::vector<bool> busy(18);
  for (const auto [a, b] : round) {
    CHECK(a / 3 != b / 3);
    CHECK(latency(a, b) == Time(0));
    for (const auto host : {a, b}) {
      CHECK(!busy[static_cast<std::size_t>(host)]);
      busy[static_cast<std::size_t>(host)] = true;
    }
  }
  // Sites 0 and 2 are equally far from site 1, which both have met.
  CHECK(round.front() == probe::Pair{0, 6});
}

TEST_CASE("sites that have all met need nothing more") {
  const Chain chain{3, 2};
  Matrix<Time> latency(6);
  for (const auto& round : probe::rounds(6))
    measure(chain, round, latency);
  CHECK(probe::unmet(latency, chain.expected()).empty());
  CHECK(probe::unmet(Matrix<Time>(1), {{0}}).empty());
}
