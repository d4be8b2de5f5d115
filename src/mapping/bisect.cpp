#include "mapping/starts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <tuple>

namespace thalweg::mapping {
namespace {

/// Symmetric weights of the pairs of ranks: seconds at a middling distance.
class Bisection {
public:
  Bisection(const Problem& problem, const HostCosts& costs, const std::vector<std::int32_t>& slots)
      : _problem(problem), _costs(costs), _slots(slots),
        _placement(index(problem.ranks()), no_host), _side(index(problem.ranks()), -1),
        _gain(index(problem.ranks())), _version(index(problem.ranks())),
        _middling(middling(problem, costs)) {}

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
    std::vector<HostId> order = hosts;
    std::ranges::stable_sort(order, {},
                             [&](HostId host) { return apart(one, host) - apart(other, host); });
    // Where there is a clear step between two halves, such as between sites; else in the middle.
    const auto lean = [&](std::size_t at) {
      return apart(one, order[at]) - apart(other, order[at]);
    };
    const double whole = lean(order.size() - 1) - lean(0);
    std::size_t cut = order.size() / 2;
    double widest = 0.4 * whole;
    for (std::size_t at = 1; at + 1 < order.size(); ++at)
      if (lean(at) - lean(at - 1) > widest && order[at - 1] != other && order[at] != one) {
        widest = lean(at) - lean(at - 1);
        cut = at;
      }
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(cut);
    std::vector<HostId> near(order.begin(), middle), far(middle, order.end());
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
      for (const Communication::Peer& peer : _problem.communication.peers(rank))
        if (_side[index(peer.rank)] >= 0) sum += weight(peer, _middling);
      _gain[index(rank)] = -sum;
      _version[index(rank)] = 0;
    }
    std::size_t next = 0, taken = 0;
    Rank last = seed;
    const auto take = [&](Rank rank) {
      _side[index(rank)] = 0;
      ++taken;
      last = rank;
      for (const Communication::Peer& peer : _problem.communication.peers(rank))
        if (_side[index(peer.rank)] == 1) {
          _gain[index(peer.rank)] += 2 * weight(peer, _middling);
          heap.emplace(_gain[index(peer.rank)], -peer.rank, ++_version[index(peer.rank)]);
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
      for (const Communication::Peer& peer : _problem.communication.peers(rank))
        if (const int side = _side[index(peer.rank)]; side >= 0)
          gain += side == _side[index(rank)] ? -weight(peer, _middling) : weight(peer, _middling);
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
        for (const Communication::Peer& peer : _problem.communication.peers(rank)) {
          const std::size_t other = index(peer.rank);
          if (_side[other] < 0 || _version[other] < 0) continue;
          _gain[other] +=
              _side[other] == side ? 2 * weight(peer, _middling) : -2 * weight(peer, _middling);
          heaps[index(_side[other])].emplace(_gain[other], -peer.rank, ++_version[other]);
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
  std::vector<int> _version; ///< of a rank's gain in a heap; -1: it has moved
  HostCosts::Pair _middling;
};

} // namespace

Placement bisect(const Problem& problem, const HostCosts& costs,
                 const std::vector<std::int32_t>& slots) {
  return repair(problem, costs, problem.slots, Bisection(problem, costs, slots).run());
}

} // namespace thalweg::mapping
