#include "mapping/starts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <span>
#include <tuple>

namespace thalweg::mapping {
namespace {

/// The pairs of ranks have symmetric weights: seconds at a middling distance.
class Bisection {
public:
  Bisection(const Problem& problem, const HostCosts& costs, const std::vector<std::int32_t>& slots)
      : _problem(problem), _costs(costs), _slots(slots),
        _placement(index(problem.ranks()), no_host), _side(index(problem.ranks()), -1),
        _gain(index(problem.ranks())), _version(index(problem.ranks())) {
    const HostCosts::Pair each = middling(problem, costs);
    for (Rank rank = 0; rank < problem.ranks(); ++rank) {
      _first.push_back(_edges.size());
      for (const Communication::Peer& peer : problem.communication.peers(rank))
        _edges.push_back({peer.rank, weight(peer, each)});
    }
    _first.push_back(_edges.size());
  }

  Placement run() {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < _problem.ranks(); ++rank)
      ranks.push_back(rank);
    std::vector<HostId> hosts;
    for (HostId host = 0; host < _problem.network.size(); ++host)
      if (_slots[index(host)] > 0) hosts.push_back(host);
    divide(ranks, hosts);
    return std::move(_placement);
  }

private:
  /// A rank that another one exchanges messages with.
  struct Edge {
    Rank rank = 0;
    double weight = 0; ///< seconds
  };
  [[nodiscard]] std::span<const Edge> edges(Rank rank) const {
    return std::span(_edges).subspan(_first[index(rank)],
                                     _first[index(rank) + 1] - _first[index(rank)]);
  }

  void divide(const std::vector<Rank>& ranks, const std::vector<HostId>& hosts) {
    if (hosts.size() == 1) {
      for (const Rank rank : ranks)
        _placement[index(rank)] = hosts.front();
      return;
    }
    const auto [near, far] = split_hosts(hosts);
    std::size_t room = 0;
    for (const HostId host : near)
      room += index(_slots[index(host)]);
    const auto [first, second] = split_ranks(ranks, room);
    divide(first, near);
    divide(second, far);
  }

  /// Divides hosts in two: those nearer to one of two hosts that are far apart.
  std::pair<std::vector<HostId>, std::vector<HostId>>
  split_hosts(const std::vector<HostId>& hosts) const {
    const auto farthest = [&](HostId from) {
      return *std::ranges::max_element(
          hosts, {}, [&](HostId host) { return host == from ? -1 : apart(from, host); });
    };
    const HostId one = farthest(hosts.front()), other = farthest(one);
    struct Leaning {
      double by; // seconds that it is farther from `one` than from `other`
      HostId host;
    };
    std::vector<Leaning> order;
    for (const HostId host : hosts)
      order.push_back({apart(one, host) - apart(other, host), host});
    std::ranges::stable_sort(order, {}, &Leaning::by);
    // Where there is a clear step between two halves, such as between sites; else in the middle.
    std::size_t cut = order.size() / 2;
    double widest = 0.4 * (order.back().by - order.front().by);
    for (std::size_t at = 1; at + 1 < order.size(); ++at)
      if (const double step = order[at].by - order[at - 1].by;
          step > widest && order[at - 1].host != other && order[at].host != one) {
        widest = step;
        cut = at;
      }
    std::vector<HostId> near, far;
    for (std::size_t at = 0; at < order.size(); ++at)
      (at < cut ? near : far).push_back(order[at].host);
    std::ranges::sort(near);
    std::ranges::sort(far);
    return {near, far};
  }

  [[nodiscard]] double apart(HostId a, HostId b) const {
    return a == b ? 0 : distance(_problem, _costs, a, b);
  }

  /// Divides ranks in two, `room` of them in the first half, so that little crosses: grown from a
  /// rank at the rim, then improved by swaps.
  std::pair<std::vector<Rank>, std::vector<Rank>> split_ranks(const std::vector<Rank>& ranks,
                                                              std::size_t room) {
    Rank seed = ranks.front();
    for (int twice = 0; twice < 2; ++twice)
      seed = grow(ranks, seed, ranks.size());
    grow(ranks, seed, room);
    for (int pass = 0; pass < 8 && improve(ranks); ++pass) {
    }
    std::pair<std::vector<Rank>, std::vector<Rank>> halves;
    for (const Rank rank : ranks) {
      (_side[index(rank)] == 0 ? halves.first : halves.second).push_back(rank);
      _side[index(rank)] = -1;
    }
    return halves;
  }

  /// Puts `count` ranks on side 0, from `seed` on always the one that draws least to side 1, and
  /// the others on side 1. Returns the last one.
  Rank grow(const std::vector<Rank>& ranks, Rank seed, std::size_t count) {
    using Candidate = std::tuple<double, Rank, int>; // gain, rank (lower first), version
    for (const Rank rank : ranks)
      _side[index(rank)] = 1;
    std::priority_queue<Candidate> heap;
    for (const Rank rank : ranks) {
      double sum = 0;
      for (const Edge& edge : edges(rank))
        if (_side[index(edge.rank)] >= 0) sum += edge.weight;
      _gain[index(rank)] = -sum;
      _version[index(rank)] = 0;
    }
    std::size_t next = 0, taken = 0;
    Rank last = seed;
    const auto take = [&](Rank rank) {
      _side[index(rank)] = 0;
      ++taken;
      last = rank;
      for (const Edge& edge : edges(rank))
        if (const std::size_t other = index(edge.rank); _side[other] == 1) {
          _gain[other] += 2 * edge.weight;
          heap.emplace(_gain[other], -edge.rank, ++_version[other]);
        }
    };
    if (count > 0) take(seed);
    while (taken < count) {
      if (heap.empty()) { // another component
        while (_side[index(ranks[next])] == 0)
          ++next;
        take(ranks[next]);
        continue;
      }
      const auto [gain, rank, version] = heap.top();
      heap.pop();
      if (_side[index(-rank)] == 1 && version == _version[index(-rank)]) take(-rank);
    }
    return last;
  }

  /// Swaps ranks of the two sides, the best ones in turn, and keeps the swaps up to the best point.
  /// Source: Kernighan and Lin: An efficient heuristic procedure for partitioning graphs, with
  /// Fiduccia's and Mattheyses' gains.
  bool improve(const std::vector<Rank>& ranks) {
    using Candidate = std::tuple<double, Rank, int>;
    std::array<std::priority_queue<Candidate>, 2> heaps;
    std::size_t smaller = 0;
    for (const Rank rank : ranks) {
      double gain = 0;
      for (const Edge& edge : edges(rank))
        if (const int side = _side[index(edge.rank)]; side >= 0)
          gain += side == _side[index(rank)] ? -edge.weight : edge.weight;
      _gain[index(rank)] = gain;
      _version[index(rank)] = 0;
      heaps[index(_side[index(rank)])].emplace(gain, -rank, 0);
      smaller += index(_side[index(rank)]);
    }
    smaller = std::min(smaller, ranks.size() - smaller);
    std::vector<Rank> moved;
    double sum = 0, best = 0;
    std::size_t keep = 0;
    const auto move = [&](int side) {
      auto& heap = heaps[index(side)];
      while (!heap.empty()) {
        const auto [gain, negative, version] = heap.top();
        heap.pop();
        const Rank rank = -negative;
        if (_version[index(rank)] != version || version < 0) continue;
        sum += gain;
        _version[index(rank)] = -1; // stays where it is now
        _side[index(rank)] = 1 - side;
        moved.push_back(rank);
        for (const Edge& edge : edges(rank)) {
          const std::size_t other = index(edge.rank);
          if (_side[other] < 0 || _version[other] < 0) continue;
          _gain[other] += _side[other] == side ? 2 * edge.weight : -2 * edge.weight;
          heaps[index(_side[other])].emplace(_gain[other], -edge.rank, ++_version[other]);
        }
        return;
      }
    };
    const std::size_t most = std::min<std::size_t>(smaller, 50 + smaller / 4);
    for (std::size_t swap = 0; swap < most && swap < keep / 2 + 50; ++swap) {
      move(0);
      move(1);
      if (sum > best * (1 + 1e-9) + 1e-300) {
        best = sum;
        keep = moved.size();
      }
    }
    for (std::size_t at = keep; at < moved.size(); ++at)
      _side[index(moved[at])] = 1 - _side[index(moved[at])];
    return keep > 0;
  }

  const Problem& _problem;
  const HostCosts& _costs;
  const std::vector<std::int32_t>& _slots;
  Placement _placement;
  std::vector<int> _side; ///< by rank: 0 or 1; -1: not among those that are divided now
  std::vector<double> _gain;
  std::vector<int> _version;       ///< of a rank's gain in a heap; -1: it has moved
  std::vector<std::size_t> _first; ///< of each rank's edges; one more at the end
  std::vector<Edge> _edges;
};

} // namespace

Placement bisect(const Problem& problem, const HostCosts& costs,
                 const std::vector<std::int32_t>& slots) {
  return repair(problem, costs, problem.slots, Bisection(problem, costs, slots).run());
}

} // namespace thalweg::mapping
