#include "networks.hpp"

#include <doctest/doctest.h>
#include <limits>
#include <vector>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using collective::no_rank;

/// Compares all pairs of a rank with the data and one without for each rank that joins.
std::vector<Rank> parents_by_all_pairs(const Network& network, Rank root, Size size) {
  constexpr double waits = -1, overhead = 1e-6;
  const auto ranks = network.size();
  std::vector<double> free(index(ranks), waits);
  std::vector<Rank> parents(index(ranks), no_rank);
  free[index(root)] = 0;
  for (Rank joined = 1; joined < ranks; ++joined) {
    double first = std::numeric_limits<double>::infinity(), busy = 0;
    Rank sender = root, receiver = root;
    for (Rank from = 0; from < ranks; ++from)
      for (Rank to = 0; to < ranks; ++to) {
        if (free[index(from)] == waits || free[index(to)] != waits) continue;
        const Rate rate = std::min({network.bandwidth(from, to), network.hosts[index(from)].egress,
                                    network.hosts[index(to)].ingress});
        const double occupied = overhead + (size / rate).value();
        const double end = free[index(from)] + occupied + network.latency(from, to).value();
        if (end < first) first = end, busy = occupied, sender = from, receiver = to;
      }
    free[index(sender)] += busy;
    free[index(receiver)] = first;
    parents[index(receiver)] = sender;
  }
  return parents;
}

TEST_CASE("the earliest tree is that of the earliest of all sends, one after the other") {
  for (std::uint32_t seed = 0; seed < 20; ++seed)
    for (const Size size : {Size{1}, Size{100'000}}) {
      CAPTURE(seed);
      CAPTURE(size);
      const Network network = random_network(24, seed);
      Placement placement(24);
      std::iota(placement.begin(), placement.end(), 0);
      const Problem problem{
          {.kind = Kind::bcast, .ranks = 24, .root = 4, .size = size}, network, placement};
      CHECK(find("earliest-tree").build(problem, {}).parents.front() ==
            parents_by_all_pairs(network, 4, size));
    }
}

} // namespace
} // namespace thalweg::algorithms
