#include "algorithms/order.hpp"

#include "algorithms/cache.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <utility>

namespace thalweg::algorithms {
namespace {

using network::HostId;

/// The data whose time through a pipeline is minimised, and the size of its segments.
constexpr double reference_size = 1e6, reference_segment = 16384;
/// Limits the local search: links examined, about a millisecond of work.
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
  Hosts(const Network& network, const Placement& placement, Shape shape);

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
  void add_link(const Network& network, HostId from, HostId to);
  void add_trunks(const Network& network);
  [[nodiscard]] double slowest_trunk(const Path& path) const;

  Shape _shape;
  std::vector<HostId> _hosts; ///< local number -> host of the network
  std::vector<std::vector<Rank>> _ranks;
  std::vector<std::int32_t> _site;
  network::Matrix<Link> _links;
  std::vector<double> _trunk_inverse;
  std::vector<HostId> _trunk_class; ///< hosts of one class are at the same ends of the same trunks
  network::Matrix<std::vector<std::int32_t>> _trunks; ///< trunks that links between classes cross
};

Hosts::Hosts(const Network& network, const Placement& placement, Shape shape) : _shape(shape) {
  std::vector<HostId> local(network.hosts.size(), network::no_host);
  for (Rank rank = 0; std::cmp_less(rank, placement.size()); ++rank) {
    const HostId host = placement[index(rank)];
    if (local[index(host)] == network::no_host) {
      local[index(host)] = count();
      _hosts.push_back(host);
      _ranks.emplace_back();
    }
    _ranks[index(local[index(host)])].push_back(rank);
  }
  _site.assign(_hosts.size(), -1);
  for (std::size_t site = 0; site < network.sites.size(); ++site)
    for (const HostId host : network.sites[site])
      if (local[index(host)] != network::no_host)
        _site[index(local[index(host)])] = static_cast<std::int32_t>(site);
  _links = network::Matrix<Link>(_hosts.size());
  for (HostId from = 0; from < count(); ++from)
    for (HostId to = 0; to < count(); ++to)
      if (from != to) add_link(network, from, to);
  add_trunks(network);
}

void Hosts::add_link(const Network& network, HostId from, HostId to) {
  const HostId a = _hosts[index(from)], b = _hosts[index(to)];
  // In a chain used in both directions each host sends to, and receives from, both of its
  // neighbours.
  const double share = _shape == Shape::both_directions ? 2 : 1;
  const double inverse_port = std::max(1 / network.hosts[index(a)].egress.value(),
                                       1 / network.hosts[index(b)].ingress.value());
  _links(from, to) = {network.latency(a, b).value(),
                      std::max(1 / network.bandwidth(a, b).value(), share * inverse_port)};
}

void Hosts::add_trunks(const Network& network) {
  if (network.trunks.empty()) return;
  std::vector<std::vector<char>> ends(network.hosts.size()); // by host: of each trunk
  for (const network::Trunk& trunk : network.trunks) {
    _trunk_inverse.push_back(1 / trunk.capacity.value());
    for (auto& host : ends)
      host.push_back(0);
    for (const HostId host : trunk.from)
      ends[index(host)].back() |= 1;
    for (const HostId host : trunk.to)
      ends[index(host)].back() |= 2;
  }
  std::map<std::vector<char>, HostId> classes;
  for (const HostId host : _hosts)
    _trunk_class.push_back(
        classes.try_emplace(ends[index(host)], static_cast<HostId>(classes.size())).first->second);
  _trunks = network::Matrix<std::vector<std::int32_t>>(classes.size());
  for (const auto& [from_ends, from] : classes)
    for (const auto& [to_ends, to] : classes)
      for (std::size_t trunk = 0; trunk < network.trunks.size(); ++trunk)
        if ((from_ends[trunk] & 1) != 0 && (to_ends[trunk] & 2) != 0)
          _trunks(from, to).push_back(static_cast<std::int32_t>(trunk));
}

Hosts::Path Hosts::greedy(HostId first) const {
  std::vector<HostId> left(_hosts.size());
  std::iota(left.begin(), left.end(), 0);
  Path path = {first};
  left.erase(left.begin() + first);
  while (!left.empty()) {
    const HostId last = path.back();
    const auto farther = [&](HostId a, HostId b) {
      const bool a_leaves = _site[index(a)] != _site[index(last)];
      const bool b_leaves = _site[index(b)] != _site[index(last)];
      if (a_leaves != b_leaves) return b_leaves;
      return _links(last, a).time() < _links(last, b).time();
    };
    const auto next = std::min_element(left.begin(), left.end(), farther);
    path.push_back(*next);
    left.erase(next);
  }
  return path;
}

Cost Hosts::cost(const Path& path, const Cost& limit) const {
  Cost cost;
  double first_segment = 0, slowest = 0;
  const auto use = [&](HostId from, HostId to) {
    const Link& link = _links(from, to);
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
  for (HostId to = 0; to < count(); ++to) {
    if (to == first) continue;
    double best = std::numeric_limits<double>::infinity();
    for (HostId from = 0; from < count(); ++from)
      if (from != to) best = std::min(best, _links(from, to).inverse_rate);
    least = std::max(least, best);
  }
  return least;
}

/// Returns the largest inverse of the rate left for each link that shares a trunk.
double Hosts::slowest_trunk(const Path& path) const {
  std::vector<double> inverse(_trunk_inverse.size(), 0);
  const auto use = [&](HostId from, HostId to) {
    for (const std::int32_t trunk : _trunks(_trunk_class[index(from)], _trunk_class[index(to)]))
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
        for (std::ptrdiff_t k = j + 1; k <= size(); ++k)
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
  std::vector<double> distance(network.hosts.size(), -1);
  const auto distance_of = [&](HostId host) {
    double& sum = distance[static_cast<std::size_t>(host)];
    if (sum >= 0) return sum;
    sum = 0;
    for (HostId other = 0; other < network.size(); ++other)
      if (other != host && ranks_on[static_cast<std::size_t>(other)] > 0)
        sum += ranks_on[static_cast<std::size_t>(other)] *
               (network.transfer_time(host, other, message) +
                network.transfer_time(other, host, message))
                   .value();
    return sum;
  };
  Rank best = 0;
  for (Rank rank = 1; std::cmp_less(rank, problem.placement.size()); ++rank)
    if (distance_of(problem.placement[static_cast<std::size_t>(rank)]) <
        distance_of(problem.placement[static_cast<std::size_t>(best)]))
      best = rank;
  return best;
}

} // namespace

std::vector<Rank> closeness_order(const Network& network, const Placement& placement, Rank first,
                                  Shape shape) {
  const Hosts hosts(network, placement, shape);
  HostId first_host = 0;
  if (first != collective::no_rank)
    while (std::ranges::find(hosts.ranks(first_host), first) == hosts.ranks(first_host).end())
      ++first_host;
  // A ring may start anywhere: rotating it changes nothing.
  const bool fixed = first != collective::no_rank || shape == Shape::ring;
  std::vector<Rank> order;
  order.reserve(placement.size());
  for (const HostId host : LocalSearch(hosts, hosts.greedy(first_host), fixed).run())
    order.insert(order.end(), hosts.ranks(host).begin(), hosts.ranks(host).end());
  if (first != collective::no_rank) {
    const auto at = std::ranges::find(order, first);
    std::rotate(order.begin(), at, at + 1);
  }
  return order;
}

std::vector<Rank> closeness_order(const Network& network, const Placement& placement, Rank first) {
  return closeness_order(network, placement, first, Shape::chain);
}

std::vector<Rank> make_order(const Problem& problem, const Parameters& parameters, Rank first,
                             Shape shape) {
  if (parameters.order == Order::closeness) {
    const auto find = [&] {
      return closeness_order(problem.network, problem.placement, first, shape);
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
