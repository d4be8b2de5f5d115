#include "algorithms/order.hpp"

#include "algorithms/cache.hpp"
#include "algorithms/used_hosts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>

namespace thalweg::algorithms {
namespace {

using network::HostId;
using units::Rate;

/// The data whose time through a pipeline is minimised, and the size of its segments.
constexpr double reference_size = 1e6, reference_segment = 16384;
/// Limits the local search: links examined, about a millisecond of work. Moves with the same
/// first two cuts are tried together, the last of which may examine as many again.
constexpr std::int64_t search_budget = 200'000;
/// A gain below this fraction of the whole is rounding, not a better order.
constexpr double least_gain = 1e-6;

/// The cost of a path through the hosts. Fewer changes of site come first.
struct Cost {
  std::int32_t site_changes = 0;
  double time = 0, slowest = 0;
  [[nodiscard]] bool below(const Cost& other) const {
    return site_changes != other.site_changes ? site_changes < other.site_changes
                                              : time < other.time;
  }
};

/// The hosts in use, numbered by their lowest rank, and the links between them.
class Hosts {
public:
  Hosts(const Network& network, const Placement& placement, Shape shape,
        std::shared_ptr<const network::TrunkSets> trunks);

  using Path = std::vector<HostId>; ///< of local numbers
  [[nodiscard]] HostId count() const { return static_cast<HostId>(_ranks.size()); }
  [[nodiscard]] const std::vector<Rank>& ranks(HostId host) const { return _ranks[index(host)]; }
  /// Builds a nearest-neighbour path from `first`, a site at a time.
  [[nodiscard]] Path greedy(HostId first) const;
  /// Returns the time of the reference data through a pipeline along the path: the first segment's
  /// latency plus the time of the slowest link. Stops early, with a cost not below `limit`, as soon
  /// as that is certain.
  [[nodiscard]] Cost cost(const Path& path, const Cost& limit) const;
  /// Returns the least inverse rate of the slowest link over all paths that start at `first`.
  [[nodiscard]] double least_slowest(HostId first) const;

private:
  struct Link {
    double latency = 0, inverse_rate = 0;
    [[nodiscard]] double time() const { return latency + reference_size * inverse_rate; }
  };
  /// Divides the hosts into classes with the same links.
  void add_classes(const Network& network);
  void add_links(const Network& network);
  [[nodiscard]] const Link& link(HostId from, HostId to) const {
    return _links(_class[index(from)], _class[index(to)]);
  }
  [[nodiscard]] double slowest_trunk(const Path& path) const;

  Shape _shape;
  std::vector<HostId> _hosts; ///< local number -> host of the network
  std::vector<std::vector<Rank>> _ranks;
  std::vector<std::int32_t> _site, _class;
  std::vector<std::vector<HostId>> _members; ///< by class, ascending local numbers
  network::Matrix<Link> _links;              ///< between different hosts, by class
  std::vector<double> _trunk_inverse;
  std::shared_ptr<const network::TrunkSets> _trunks;
};

Hosts::Hosts(const Network& network, const Placement& placement, Shape shape,
             std::shared_ptr<const network::TrunkSets> trunks)
    : _shape(shape), _trunks(std::move(trunks)) {
  UsedHosts used(network, placement);
  _hosts = std::move(used.hosts);
  _ranks = std::move(used.ranks);
  const std::vector<std::int32_t> site_of = network::sites_of_hosts(network, -1);
  for (const HostId host : _hosts)
    _site.push_back(site_of[index(host)]);
  for (const network::Trunk& trunk : network.trunks)
    _trunk_inverse.push_back(1 / trunk.capacity.value());
  add_classes(network);
  add_links(network);
}

void Hosts::add_classes(const Network& network) {
  const network::HostClasses alike = network::host_classes(network);
  std::map<std::tuple<std::int32_t, std::int32_t, Rate, Rate>, std::int32_t> known;
  for (HostId host = 0; host < count(); ++host) {
    const std::size_t own = index(_hosts[index(host)]);
    const network::Host& ports = network.hosts[own];
    const auto [at, is_new] =
        known.try_emplace({alike.of[own], _site[index(host)], ports.egress, ports.ingress},
                          static_cast<std::int32_t>(known.size()));
    if (is_new) _members.emplace_back();
    _class.push_back(at->second);
    _members[index(at->second)].push_back(host);
  }
}

void Hosts::add_links(const Network& network) {
  // In a chain used in both directions each host sends to, and receives from, both neighbours.
  const double share = _shape == Shape::both_directions ? 2 : 1;
  const auto classes = static_cast<HostId>(_members.size());
  _links = network::Matrix<Link>(_members.size());
  for (HostId from = 0; from < classes; ++from)
    for (HostId to = 0; to < classes; ++to) {
      if (from == to && _members[index(to)].size() == 1) continue;
      const HostId a = _hosts[index(_members[index(from)].front())];
      const HostId b = _hosts[index(from == to ? _members[index(to)][1] : _members[index(to)][0])];
      const double inverse_port = std::max(1 / network.hosts[index(a)].egress.value(),
                                           1 / network.hosts[index(b)].ingress.value());
      _links(from, to) = {network.latency(a, b).value(),
                          std::max(1 / network.bandwidth(a, b).value(), share * inverse_port)};
    }
}

Hosts::Path Hosts::greedy(HostId first) const {
  // All hosts of a class are equally near, so the first that is left will do.
  std::vector<std::size_t> next(_members.size(), 0);
  Path path = {first};
  while (path.size() < _hosts.size()) {
    const HostId last = path.back();
    const auto distance = [&](HostId host) {
      return std::tuple(_site[index(host)] != _site[index(last)], link(last, host).time(), host);
    };
    std::size_t best = _members.size();
    for (std::size_t at = 0; at < _members.size(); ++at) {
      if (next[at] < _members[at].size() && _members[at][next[at]] == first) ++next[at];
      if (next[at] == _members[at].size()) continue;
      if (best == _members.size() ||
          distance(_members[at][next[at]]) < distance(_members[best][next[best]]))
        best = at;
    }
    path.push_back(_members[best][next[best]++]);
  }
  return path;
}

Cost Hosts::cost(const Path& path, const Cost& limit) const {
  Cost cost;
  double first_segment = 0, slowest = 0;
  const auto use = [&](HostId from, HostId to) {
    const Link& link = this->link(from, to);
    first_segment += link.latency + reference_segment * link.inverse_rate;
    slowest = std::max(slowest, link.inverse_rate);
  };
  const std::size_t links = path.size() - (_shape == Shape::ring ? 0 : 1);
  for (std::size_t at = 0; at < links; ++at) {
    const HostId from = path[at], to = path[at + 1 == path.size() ? 0 : at + 1];
    use(from, to);
    if (_shape == Shape::both_directions) use(to, from);
    cost.site_changes += _site[index(from)] != _site[index(to)];
    cost.time = first_segment + reference_size * slowest;
    if (!cost.below(limit)) return cost;
  }
  if (!_trunk_inverse.empty()) slowest = std::max(slowest, slowest_trunk(path));
  cost.time = first_segment + reference_size * slowest;
  cost.slowest = slowest;
  return cost;
}

double Hosts::least_slowest(HostId first) const {
  double least = 0;
  const auto classes = static_cast<HostId>(_members.size());
  for (HostId to = 0; to < classes; ++to) {
    const auto& members = _members[index(to)];
    if (members.size() == 1 && members.front() == first) continue;
    double best = std::numeric_limits<double>::infinity();
    for (HostId from = 0; from < classes; ++from)
      if (from != to || members.size() > 1) best = std::min(best, _links(from, to).inverse_rate);
    least = std::max(least, best);
  }
  return least;
}

/// Returns the largest inverse of the rate left for each link that shares a trunk.
double Hosts::slowest_trunk(const Path& path) const {
  std::vector<double> inverse(_trunk_inverse.size(), 0);
  const auto use = [&](HostId from, HostId to) {
    for (const std::int32_t trunk : _trunks->between(_hosts[index(from)], _hosts[index(to)]))
      inverse[index(trunk)] += _trunk_inverse[index(trunk)];
  };
  for (std::size_t at = 0; at + 1 < path.size(); ++at) {
    use(path[at], path[at + 1]);
    if (_shape == Shape::both_directions) use(path[at + 1], path[at]);
  }
  if (_shape == Shape::ring) use(path.back(), path.front());
  return *std::max_element(inverse.begin(), inverse.end());
}

/// Improves a path by reversing part of it (2-opt) or swapping two adjacent parts (3-opt without
/// reversal, which suits directed links), accepting the first improvement. When nothing helps it
/// swaps two parts anywhere and tries again, unless the slowest link cannot be avoided.
class LocalSearch {
public:
  LocalSearch(const Hosts& hosts, Hosts::Path path, bool first_is_fixed)
      : _hosts(hosts), _path(std::move(path)), _begin(first_is_fixed ? 1 : 0) {
    _cost = _hosts.cost(_path, {std::numeric_limits<std::int32_t>::max()});
  }

  Hosts::Path run() {
    if (size() > most_searched) return _path;
    descend();
    for (int kick = 0; kick < kicks && _budget > 0 && improvable(); ++kick) {
      const Hosts::Path best = _path;
      const Cost best_cost = _cost;
      shake();
      descend();
      if (!_cost.below(best_cost)) {
        _path = best;
        _cost = best_cost;
      }
    }
    return _path;
  }

private:
  void descend() {
    while (_budget > 0 && pass()) {
    }
  }

  bool pass() {
    bool improved = false;
    for (std::ptrdiff_t i = _begin; i < size(); ++i)
      for (std::ptrdiff_t j = i + 1; j < size() && _budget > 0; ++j) {
        improved |= try_move([&](auto path) { std::reverse(path + i, path + j + 1); });
        for (std::ptrdiff_t k = j + 1; k <= size() && _budget > -search_budget; ++k)
          improved |= try_move([&](auto path) { std::rotate(path + i, path + j, path + k); });
      }
    return improved;
  }

  template <class Move>
  bool try_move(Move move) {
    _trial = _path;
    move(_trial.begin());
    const Cost limit{_cost.site_changes, _cost.time * (1 - least_gain)};
    const Cost cost = _hosts.cost(_trial, limit);
    _budget -= size();
    if (!cost.below(limit)) return false;
    _cost = cost;
    _path.swap(_trial);
    return true;
  }

  /// Swaps two adjacent parts twice, which no single move undoes.
  void shake() {
    for (int swap = 0; swap < 2; ++swap) {
      std::array<std::ptrdiff_t, 3> cut{};
      for (std::ptrdiff_t& at : cut)
        at = _begin + static_cast<std::ptrdiff_t>(_random() %
                                                  static_cast<std::uint32_t>(size() - _begin + 1));
      std::ranges::sort(cut);
      std::rotate(_path.begin() + cut[0], _path.begin() + cut[1], _path.begin() + cut[2]);
    }
    _cost = _hosts.cost(_path, {std::numeric_limits<std::int32_t>::max()});
  }

  [[nodiscard]] bool improvable() const {
    return size() - _begin > 2 && _cost.slowest > _hosts.least_slowest(_path.front());
  }

  [[nodiscard]] std::ptrdiff_t size() const { return static_cast<std::ptrdiff_t>(_path.size()); }

  static constexpr int kicks = 64;
  /// Hosts: a single move of more costs too much.
  static constexpr std::ptrdiff_t most_searched = 8192;
  const Hosts& _hosts;
  Hosts::Path _path, _trial;
  std::ptrdiff_t _begin;
  Cost _cost;
  std::int64_t _budget = search_budget;
  std::minstd_rand _random{1};
};

Rank find_central_rank(const Problem& problem) {
  constexpr Size message = 65536;
  const Network& network = problem.network;
  std::vector<double> ranks_on(network.hosts.size());
  for (const HostId host : problem.placement)
    ranks_on[static_cast<std::size_t>(host)] += 1;
  const network::HostClasses classes = network::host_classes(network);
  std::vector<double> ranks_of(classes.members.size());
  for (HostId host = 0; host < network.size(); ++host)
    ranks_of[index(classes.of[index(host)])] += ranks_on[index(host)];
  std::vector<double> distance(network.hosts.size(), -1);
  const auto distance_of = [&](HostId host) {
    double& sum = distance[index(host)];
    if (sum >= 0) return sum;
    sum = 0;
    for (std::size_t at = 0; at < ranks_of.size(); ++at) {
      const bool is_own = index(classes.of[index(host)]) == at;
      const double ranks = ranks_of[at] - (is_own ? ranks_on[index(host)] : 0);
      if (ranks == 0) continue;
      const auto& members = classes.members[at];
      const HostId other = members.front() == host ? members[1] : members.front();
      sum += ranks * (network.transfer_time(host, other, message) +
                      network.transfer_time(other, host, message))
                         .value();
    }
    return sum;
  };
  Rank best = 0;
  for (Rank rank = 1; std::cmp_less(rank, problem.placement.size()); ++rank)
    if (distance_of(problem.placement[static_cast<std::size_t>(rank)]) <
        distance_of(problem.placement[static_cast<std::size_t>(best)]))
      best = rank;
  return best;
}

std::vector<Rank> order_on(const Hosts& hosts, std::size_t ranks, Rank first, Shape shape) {
  HostId first_host = 0;
  if (first != collective::no_rank)
    while (std::ranges::find(hosts.ranks(first_host), first) == hosts.ranks(first_host).end())
      ++first_host;
  // A ring may start anywhere: rotating it changes nothing.
  const bool fixed = first != collective::no_rank || shape == Shape::ring;
  std::vector<Rank> order;
  order.reserve(ranks);
  for (const HostId host : LocalSearch(hosts, hosts.greedy(first_host), fixed).run())
    order.insert(order.end(), hosts.ranks(host).begin(), hosts.ranks(host).end());
  if (first != collective::no_rank) {
    const auto at = std::ranges::find(order, first);
    std::rotate(order.begin(), at, at + 1);
  }
  return order;
}

} // namespace

std::vector<Rank> closeness_order(const Network& network, const Placement& placement, Rank first,
                                  Shape shape) {
  const Hosts hosts(network, placement, shape, std::make_shared<network::TrunkSets>(network));
  return order_on(hosts, placement.size(), first, shape);
}

std::vector<Rank> closeness_order(const Network& network, const Placement& placement, Rank first) {
  return closeness_order(network, placement, first, Shape::chain);
}

std::vector<Rank> make_order(const Problem& problem, const Parameters& parameters, Rank first,
                             Shape shape) {
  if (parameters.order == Order::closeness) {
    const auto find = [&] {
      const Hosts hosts(problem.network, problem.placement, shape, trunk_sets(problem));
      return order_on(hosts, problem.placement.size(), first, shape);
    };
    return problem.cache != nullptr ? problem.cache->order(first, shape, find) : find();
  }
  std::vector<Rank> order(problem.placement.size());
  std::iota(order.begin(), order.end(), 0);
  if (first != collective::no_rank) std::rotate(order.begin(), order.begin() + first, order.end());
  return order;
}

Rank central_rank(const Problem& problem) {
  const auto find = [&] { return find_central_rank(problem); };
  return problem.cache != nullptr ? problem.cache->central(find) : find();
}

} // namespace thalweg::algorithms
