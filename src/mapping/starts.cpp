#include "mapping/starts.hpp"

#include "units/index.hpp"
#include "units/mix.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace thalweg::mapping {
namespace {

/// The slots that pinned ranks leave, and a placement with only them.
struct Unpinned {
  explicit Unpinned(const Problem& problem)
      : left(problem.slots), placement(index(problem.ranks()), no_host) {
    for (Rank rank = 0; rank < problem.ranks(); ++rank)
      if (const HostId host = problem.pinned_to(rank); host != no_host) {
        placement[index(rank)] = host;
        --left[index(host)];
      }
  }
  /// Gives the ranks that aren't pinned these hosts, in order.
  Placement fill(const std::vector<HostId>& hosts) {
    std::size_t next = 0;
    for (HostId& host : placement)
      if (host == no_host) host = hosts[next++];
    return std::move(placement);
  }

  std::vector<std::int32_t> left;
  Placement placement;
};

/// Returns a host for each slot of the first hosts in the order, which have `enough` slots, or of
/// all.
std::vector<HostId> host_after_host(const std::vector<HostId>& order,
                                    const std::vector<std::int32_t>& slots,
                                    std::size_t enough = std::numeric_limits<std::size_t>::max()) {
  std::vector<HostId> hosts;
  for (auto host = order.begin(); host != order.end() && hosts.size() < enough; ++host)
    hosts.insert(hosts.end(), index(slots[index(*host)]), *host);
  return hosts;
}

/// Grows a set of hosts from one, each time by the one nearest to all so far.
struct Grown {
  std::vector<std::int32_t> slots;
  double spread = 0; ///< distance of ranks on different hosts, summed up
};

class Growth {
public:
  Growth(const Problem& problem, const HostCosts& costs)
      : _problem(problem), _costs(costs), _needed(problem.slots.size()) {
    for (Rank rank = 0; rank < problem.ranks(); ++rank)
      if (problem.pinned_to(rank) != no_host) ++_needed[index(problem.pinned_to(rank))];
  }

  Grown from(HostId first) {
    Grown grown{_needed, 0};
    _far.assign(_problem.slots.size(), 0.0);
    _left = _problem.ranks();
    for (HostId host = 0; host < _problem.network.size(); ++host)
      if (_needed[index(host)] > 0) take(grown, host, _needed[index(host)]);
    for (HostId next = first; _left > 0; next = nearest(grown)) {
      const std::int32_t room = _problem.slots[index(next)] - grown.slots[index(next)];
      const std::int32_t count = std::min(_left, room);
      grown.slots[index(next)] += count;
      take(grown, next, count);
    }
    return grown;
  }

private:
  void take(Grown& grown, HostId host, std::int32_t count) {
    _left -= count;
    grown.spread += count * _far[index(host)];
    for (HostId other = 0; other < _problem.network.size(); ++other)
      if (other != host) _far[index(other)] += count * distance(_problem, _costs, host, other);
  }

  /// Returns the host with room that is nearest to all so far.
  [[nodiscard]] HostId nearest(const Grown& grown) const {
    HostId best = no_host;
    for (HostId host = 0; host < _problem.network.size(); ++host)
      if (grown.slots[index(host)] < _problem.slots[index(host)] &&
          (best == no_host || _far[index(host)] < _far[index(best)]))
        best = host;
    return best;
  }

  const Problem& _problem;
  const HostCosts& _costs;
  std::vector<std::int32_t> _needed; ///< by host: pinned ranks
  std::vector<double> _far;          ///< by host: its distance from the ranks so far, summed up
  Rank _left = 0;
};

/// Lets ranks leave hosts that have too many, each time the one that loses least.
class Repair {
public:
  Repair(const Problem& problem, const HostCosts& costs, std::vector<std::int32_t> slots,
         Placement placement)
      : _problem(problem), _costs(costs), _room(std::move(slots)), _members(_room.size()),
        _placement(std::move(placement)), _best(_placement.size()) {
    for (Rank rank = 0; rank < problem.ranks(); ++rank) {
      const std::size_t host = index(_placement[index(rank)]);
      --_room[host];
      if (problem.pinned_to(rank) == no_host) _members[host].push_back(rank);
    }
  }

  Placement run() {
    for (HostId host = 0; host < _problem.network.size(); ++host)
      if (_room[index(host)] < 0) relieve(host);
    return std::move(_placement);
  }

private:
  /// Where a rank loses least, of the hosts with room.
  struct Target {
    double extra = std::numeric_limits<double>::infinity(); ///< seconds
    HostId host = no_host;
  };

  void relieve(HostId full) {
    _queue.clear();
    for (const Rank rank : _members[index(full)])
      enqueue(rank);
    while (_room[index(full)] < 0) {
      const Rank rank = _queue.begin()->second;
      const HostId to = _best[index(rank)].host;
      _queue.erase(_queue.begin());
      if (_room[index(to)] == 0) { // since it was looked at; elsewhere the rank loses no less
        enqueue(rank);
        continue;
      }
      ++_room[index(full)];
      --_room[index(to)];
      _placement[index(rank)] = to;
      look_again_at_peers(rank, full);
    }
  }

  /// Peers of a rank that has left a host, and stay there, lose something else now.
  void look_again_at_peers(Rank left, HostId host) {
    for (const Communication::Peer& peer : _problem.communication.peers(left)) {
      if (_placement[index(peer.rank)] == host &&
          _queue.erase(std::pair(_best[index(peer.rank)].extra, peer.rank)) > 0)
        enqueue(peer.rank);
    }
  }

  void enqueue(Rank rank) {
    Target best;
    for (HostId to = 0; to < _problem.network.size(); ++to)
      if (_room[index(to)] > 0)
        if (const double extra = extra_cost(rank, to); extra < best.extra) best = {extra, to};
    _best[index(rank)] = best;
    _queue.emplace(best.extra, rank);
  }

  [[nodiscard]] double extra_cost(Rank rank, HostId to) const {
    double sum = 0;
    for (const Communication::Peer& peer : _problem.communication.peers(rank)) {
      const HostId there = _placement[index(peer.rank)];
      sum += _costs.between(peer, to, there) - _costs.between(peer, _placement[index(rank)], there);
    }
    return sum;
  }

  const Problem& _problem;
  const HostCosts& _costs;
  std::vector<std::int32_t> _room; ///< by host: free slots; below 0 where too many ranks are
  std::vector<std::vector<Rank>> _members; ///< by host, at first: ranks that may leave
  Placement _placement;
  std::vector<Target> _best;                ///< by rank
  std::set<std::pair<double, Rank>> _queue; ///< what ranks of one host lose, the least first
};

} // namespace

HostCosts::Pair middling(const Problem& problem, const HostCosts& costs) {
  HostCosts::Pair sum;
  const auto hosts = static_cast<double>(problem.network.size());
  for (HostId a = 0; a < problem.network.size(); ++a)
    for (HostId b = 0; b < problem.network.size(); ++b) {
      sum.message += costs(a, b).message;
      sum.byte += costs(a, b).byte;
    }
  if (sum.message > 0 || sum.byte > 0)
    return {sum.message / (hosts * hosts), sum.byte / (hosts * hosts)};
  const double messages = problem.communication.messages(), bytes = problem.communication.bytes();
  return {messages > 0 ? 1 / messages : 0, bytes > 0 ? 1 / bytes : 0};
}

double distance(const Problem& problem, const HostCosts& costs, HostId a, HostId b) {
  const Communication& all = problem.communication;
  const bool silent = all.messages() <= 0 && all.bytes() <= 0;
  const double messages = silent ? 1 : all.messages(), bytes = silent ? 1 : all.bytes();
  const HostCosts::Pair out = costs(a, b), back = costs(b, a);
  return 0.5 * (messages * (out.message + back.message) + bytes * (out.byte + back.byte));
}

Placement block(const Problem& problem) { return block(problem, problem.in_order()); }

Placement block(const Problem& problem, const std::vector<HostId>& order) {
  Unpinned rest(problem);
  return rest.fill(host_after_host(order, rest.left, index(problem.ranks())));
}

Placement interleave(const Problem& problem) {
  Unpinned rest(problem);
  std::vector<HostId> hosts, open = problem.in_order();
  for (std::int32_t round = 0; !open.empty() && hosts.size() < index(problem.ranks()); ++round) {
    std::erase_if(open, [&](HostId host) { return rest.left[index(host)] <= round; });
    hosts.insert(hosts.end(), open.begin(), open.end());
  }
  return rest.fill(hosts);
}

Placement random(const Problem& problem, std::uint64_t seed) {
  Unpinned rest(problem);
  std::vector<HostId> hosts = host_after_host(problem.in_order(), rest.left);
  for (std::size_t left = hosts.size(); left > 1; --left) {
    seed += mix_step;
    std::swap(hosts[left - 1], hosts[mix(seed) % left]);
  }
  return rest.fill(hosts);
}

Placement repair(const Problem& problem, const HostCosts& costs,
                 const std::vector<std::int32_t>& slots, Placement placement) {
  for (Rank rank = 0; rank < problem.ranks(); ++rank)
    if (const HostId host = problem.pinned_to(rank); host != no_host) placement[index(rank)] = host;
  return Repair(problem, costs, slots, std::move(placement)).run();
}

std::vector<std::vector<std::int32_t>> choices_of_hosts(const Problem& problem,
                                                        const HostCosts& costs, std::size_t most) {
  const std::int64_t all =
      std::accumulate(problem.slots.begin(), problem.slots.end(), std::int64_t{0});
  if (all == problem.ranks()) return {problem.slots};
  std::vector<HostId> usable;
  for (HostId host = 0; host < problem.network.size(); ++host)
    if (problem.slots[index(host)] > 0) usable.push_back(host);
  Growth growth(problem, costs);
  std::vector<Grown> grown;
  constexpr std::size_t most_tried = 64;
  const std::size_t step = std::max<std::size_t>(1, usable.size() / most_tried);
  for (std::size_t at = 0; at < usable.size(); at += step)
    grown.push_back(growth.from(usable[at]));
  std::ranges::stable_sort(grown, {}, &Grown::spread);
  std::vector<std::vector<std::int32_t>> choices;
  for (Grown& each : grown)
    if (choices.size() < most && std::ranges::find(choices, each.slots) == choices.end())
      choices.push_back(std::move(each.slots));
  return choices;
}

} // namespace thalweg::mapping
