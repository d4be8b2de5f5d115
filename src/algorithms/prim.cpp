#include "algorithms/prim.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace thalweg::algorithms {
namespace {

std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }

/// A rank that isn't in, and the lightest link over which it may join.
struct Outside {
  Rank rank = 0, upper = 0;
  double weight = 0;
  double direct = 0; ///< weight of the root's link
};

} // namespace

LinkWeight latency_weight(const Problem& problem) {
  const collective::Kind kind = problem.collective.kind;
  return [&problem, kind](Rank upper, Rank lower) {
    const network::HostId a = problem.placement[index(upper)], b = problem.placement[index(lower)];
    if (a == b) return 0.0;
    const double down = flows_down(kind) ? problem.network.latency(a, b).value() : 0;
    const double up = flows_up(kind) ? problem.network.latency(b, a).value() : 0;
    return std::max(down, up);
  };
}

void join_by_lightest_link(std::span<const Rank> group, const LinkWeight& weight, LinkTest test,
                           std::vector<Rank>& order, std::vector<Rank>& parents) {
  const Rank root = group.front();
  std::vector<Outside> outside;
  for (const Rank rank : group.subspan(1)) {
    const double direct = weight(root, rank);
    outside.push_back({rank, root, direct, direct});
  }
  std::vector<double> distance(parents.size()); // D: from the root, of those that are in
  while (!outside.empty()) {
    const auto lightest = std::ranges::min_element(outside, {}, [&](const Outside& each) {
      return std::tuple(each.weight, each.upper != root, each.upper, each.rank);
    });
    const Outside joined = *lightest;
    outside.erase(lightest);
    order.push_back(joined.rank);
    parents[index(joined.rank)] = joined.upper;
    distance[index(joined.rank)] = distance[index(joined.upper)] + joined.weight;
    for (Outside& each : outside) {
      const double link = weight(joined.rank, each.rank);
      const bool allowed =
          test == LinkTest::none || distance[index(joined.rank)] + link <= each.direct;
      if (allowed && std::tuple(link, each.upper == root ? -1 : each.upper) <
                         std::tuple(each.weight, each.upper == root ? -1 : each.upper))
        each = {each.rank, joined.rank, link, each.direct};
    }
  }
}

} // namespace thalweg::algorithms
