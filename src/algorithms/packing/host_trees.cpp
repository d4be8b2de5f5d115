#include "algorithms/packing/host_trees.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace thalweg::algorithms {
namespace {

using network::HostId;
using network::no_host;
using Site = SiteGraph::Site;

constexpr std::int32_t most_trees = 32;
/// A difference below this fraction is rounding, not lack of capacity.
constexpr double rounding = 1e-6;
/// A link with this many times the usual latency is avoided.
constexpr double long_latency = 4;
/// Fractions of the packed rate that are tried in turn: with less in each tree the hosts' ports
/// divide with less left over.
constexpr double scales[] = {1, 0.96, 0.9, 0.84, 0.75, 0.6};
/// The fraction at which no other is tried.
constexpr double close_enough = 0.98;

/// Lays one tree after another, each on its part of what the hosts can send.
class Layer {
public:
  Layer(const SiteGraph& graph, HostId root, double total);
  /// Adds a tree of hosts along a tree of sites.
  void add(const SiteTree& sites, double rate);
  /// Returns the rate that all trees carry together, each with its share.
  [[nodiscard]] double carried(double total) const;
  std::vector<HostTree> trees;

private:
  struct Entrance {
    Site site;
    HostId host;
  };
  [[nodiscard]] double left_of(HostId host) const;
  [[nodiscard]] std::int32_t slots(HostId host) const;
  [[nodiscard]] double used(HostId from, HostId to) const;
  [[nodiscard]] bool is_good(HostId from, HostId to) const;
  /// Whether no link carries as much as the tree being laid needs, so that none is good.
  [[nodiscard]] bool exceeds_all_links() const { return _rate > _graph.fastest * (1 + rounding); }
  [[nodiscard]] std::size_t best_child(HostId parent, const std::vector<HostId>& hosts) const;
  [[nodiscard]] std::vector<HostId> by_capacity(Site site, HostId without) const;
  [[nodiscard]] std::uint64_t key(HostId from, HostId to) const {
    return static_cast<std::uint64_t>(from) * _graph.hosts.size() + index(to);
  }
  void connect(HostId parent, HostId child);
  [[nodiscard]] bool is_slow(HostId from, HostId to) const;
  void avoid_slow_links(HostTree& tree);
  void put_in_order(HostTree& tree) const;
  void span(Entrance entrance, const std::vector<Site>& below, std::vector<Entrance>& entrances);
  [[nodiscard]] HostId least_loaded(const std::vector<HostId>& serving) const;

  const SiteGraph& _graph;
  HostId _root;
  double _later;             ///< rate of later trees, of each of which the root serves one child
  double _rate = 0;          ///< of the tree being laid
  std::vector<double> _left; ///< by host: rate that it can still send
  std::unordered_map<std::uint64_t, double> _flows; ///< by pair: rate that it carries
};

Layer::Layer(const SiteGraph& graph, HostId root, double total)
    : _graph(graph), _root(root), _later(total), _left(graph.egress) {
  if (graph.flow == DataFlow::both)
    for (double& left : _left)
      left -= total; // rate that it sends up
}

double Layer::left_of(HostId host) const {
  return _left[index(host)] - (host == _root ? _later : 0);
}

std::int32_t Layer::slots(HostId host) const {
  const double slots = left_of(host) / _rate + rounding;
  return static_cast<std::int32_t>(std::clamp(slots, 0.0, static_cast<double>(_graph.size())));
}

double Layer::used(HostId from, HostId to) const {
  const auto found = _flows.find(key(from, to));
  return found == _flows.end() ? 0 : found->second;
}

bool Layer::is_good(HostId from, HostId to) const {
  const double usual = _graph.latencies(_graph.site_of[index(from)], _graph.site_of[index(to)]);
  const double most = _graph.parallel_bandwidth(from, to) * (1 + rounding);
  // Looking up what other trees use takes longest.
  return _rate <= most && _graph.latency(from, to) <= long_latency * usual &&
         used(from, to) + _rate <= most;
}

/// Returns the first host with a good link from the parent, else the one with the fastest link.
std::size_t Layer::best_child(HostId parent, const std::vector<HostId>& hosts) const {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  // Where no link is good, the search ends at one that is as fast as any and carries no other tree.
  const double enough = exceeds_all_links() ? _rate / _graph.fastest : 0;
  for (std::size_t at = 0; at < hosts.size() && least > enough; ++at) {
    if (is_good(parent, hosts[at])) return at;
    const double bandwidth = _graph.parallel_bandwidth(parent, hosts[at]);
    if (_rate / bandwidth >= least) continue; // too slow even without other trees
    const double load = (used(parent, hosts[at]) + _rate) / bandwidth;
    if (load < least) {
      least = load;
      best = at;
    }
  }
  return best;
}

/// Returns the hosts of a site, those with the most capacity first.
std::vector<HostId> Layer::by_capacity(Site site, HostId without) const {
  std::vector<HostId> hosts = _graph.sites[index(site)];
  std::erase(hosts, without);
  std::ranges::stable_sort(hosts, std::greater<>(), [&](HostId host) { return left_of(host); });
  return hosts;
}

void Layer::connect(HostId parent, HostId child) {
  HostTree& tree = trees.back();
  tree.parents[index(child)] = parent;
  tree.order.push_back(child);
  _left[index(parent)] -= _rate;
  _flows[key(parent, child)] += _rate;
}

void Layer::add(const SiteTree& sites, double rate) {
  _rate = rate;
  _later -= rate;
  HostTree& tree = trees.emplace_back();
  tree.rate = rate;
  tree.parents.assign(_graph.hosts.size(), no_host);
  const HostId root = _root != no_host ? _root : by_capacity(sites.root, no_host).front();
  tree.order.push_back(root);
  if (_graph.flow == DataFlow::both) _left[index(root)] += rate;
  std::vector<Entrance> entrances = {{sites.root, root}};
  for (std::size_t at = 0; at < entrances.size(); ++at) {
    std::vector<Site> below;
    for (Site site = 0; std::cmp_less(site, sites.parents.size()); ++site)
      if (sites.parents[index(site)] == entrances[at].site) below.push_back(site);
    std::ranges::stable_sort(below, std::greater<>(),
                             [&](Site site) { return _graph.latencies(entrances[at].site, site); });
    span(entrances[at], below, entrances);
  }
  avoid_slow_links(tree);
}

bool Layer::is_slow(HostId from, HostId to) const {
  const double usual = _graph.latencies(_graph.site_of[index(from)], _graph.site_of[index(to)]);
  return used(from, to) > _graph.parallel_bandwidth(from, to) * (1 + rounding) ||
         _graph.latency(from, to) > long_latency * usual;
}

/// Moves hosts that are reached over slow links elsewhere, near if possible, if any host has the
/// capacity.
void Layer::avoid_slow_links(HostTree& tree) {
  if (exceeds_all_links()) return;
  const auto is_below = [&](HostId host, HostId top) {
    while (host != no_host && host != top)
      host = tree.parents[index(host)];
    return host == top;
  };
  bool moved = false;
  for (HostId child = 0; child < _graph.size(); ++child) {
    const HostId old = tree.parents[index(child)];
    if (old == no_host || !is_slow(old, child)) continue;
    HostId best = no_host;
    for (HostId host = 0; host < _graph.size(); ++host)
      if (host != child && slots(host) > 0 && is_good(host, child) && !is_below(host, child) &&
          (best == no_host || _graph.latency(host, child) < _graph.latency(best, child)))
        best = host;
    if (best == no_host) continue;
    _left[index(old)] += _rate;
    _flows[key(old, child)] -= _rate;
    _left[index(best)] -= _rate;
    _flows[key(best, child)] += _rate;
    tree.parents[index(child)] = best;
    moved = true;
  }
  if (moved) put_in_order(tree);
}

void Layer::put_in_order(HostTree& tree) const {
  std::vector<std::vector<HostId>> children(tree.parents.size());
  for (const HostId host : tree.order)
    if (tree.parents[index(host)] != no_host)
      children[index(tree.parents[index(host)])].push_back(host);
  tree.order.resize(1);
  for (std::size_t at = 0; at < tree.order.size(); ++at) {
    const auto& next = children[index(tree.order[at])];
    tree.order.insert(tree.order.end(), next.begin(), next.end());
  }
}

HostId Layer::least_loaded(const std::vector<HostId>& serving) const {
  return *std::ranges::max_element(
      serving, {}, [&](HostId host) { return left_of(host) / _graph.egress[index(host)]; });
}

/// Spans a tree from its entrance to a site over all the site's hosts, and on to the sites below.
void Layer::span(Entrance entrance, const std::vector<Site>& below,
                 std::vector<Entrance>& entrances) {
  std::vector<HostId> waiting = by_capacity(entrance.site, entrance.host);
  std::vector<HostId> serving = {entrance.host};
  std::size_t head = 0, crossed = 0;
  HostId last_local = no_host; // last host that served a host of the site
  while (!waiting.empty() || crossed < below.size()) {
    while (head < serving.size() && slots(serving[head]) == 0)
      ++head;
    const HostId server = head < serving.size() ? serving[head] : least_loaded(serving);
    const std::size_t demand = waiting.size() + below.size() - crossed;
    const std::size_t child = waiting.empty() ? 0 : best_child(server, waiting);
    // A host that can't serve all first serves another host that can serve more.
    const bool local = crossed == below.size() ||
                       (!waiting.empty() && last_local != server &&
                        std::cmp_less(slots(server), demand) && is_good(server, waiting[child]));
    if (local) {
      connect(server, waiting[child]);
      serving.push_back(waiting[child]);
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(child));
      last_local = server;
    } else {
      const Site site = below[crossed++];
      const std::vector<HostId> gateways = by_capacity(site, no_host);
      const HostId gateway = gateways[best_child(server, gateways)];
      connect(server, gateway);
      entrances.push_back({site, gateway});
    }
  }
}

double Layer::carried(double total) const {
  double share = std::numeric_limits<double>::infinity(); // fraction of the total
  for (HostId host = 0; host < _graph.size(); ++host) {
    const double capacity = _graph.egress[index(host)];
    const double load = capacity - _left[index(host)];
    if (load > 0) share = std::min(share, capacity / load);
  }
  for (const auto& [pair, load] : _flows) {
    if (load <= 0) continue;
    const auto from = static_cast<HostId>(pair / _graph.hosts.size());
    const auto to = static_cast<HostId>(pair % _graph.hosts.size());
    share = std::min(share, _graph.parallel_bandwidth(from, to) / load);
  }
  return share * total;
}

/// Returns the number of trees that a tree of sites is split into.
std::int32_t parts_of(const SiteGraph& graph, const SiteTree& tree, double share,
                      std::int32_t count) {
  double parts = std::max(1.0, std::floor(share * count + 0.5));
  for (Site site = 0; std::cmp_less(site, tree.parents.size()); ++site) {
    parts = std::max(parts, std::ceil(tree.rate / graph.bandwidths(site, site) - 0.01));
    if (const Site parent = tree.parents[index(site)]; parent != SiteGraph::no_site)
      parts = std::max(parts, std::ceil(tree.rate / graph.bandwidths(parent, site) - 0.01));
  }
  return static_cast<std::int32_t>(std::min<double>(parts, most_trees));
}

} // namespace

HostTrees lay_host_trees(const SiteGraph& graph, const std::vector<SiteTree>& site_trees,
                         std::int32_t count, HostId root) {
  if (site_trees.empty()) return {};
  double total = 0;
  for (const SiteTree& tree : site_trees)
    total += tree.rate;
  std::vector<std::int32_t> parts;
  for (const SiteTree& tree : site_trees)
    parts.push_back(parts_of(graph, tree, tree.rate / total, count));
  // However much each tree is given, it carries no more than a single link does.
  const double most = std::accumulate(parts.begin(), parts.end(), 0) * graph.fastest;
  HostTrees best;
  for (const double scale : scales) {
    Layer layer(graph, root, total * scale);
    const std::int32_t rounds = *std::ranges::max_element(parts);
    for (std::int32_t round = 0; round < rounds; ++round)
      for (std::size_t at = 0; at < site_trees.size(); ++at)
        if (round < parts[at]) layer.add(site_trees[at], site_trees[at].rate * scale / parts[at]);
    const double carried = std::min(total, layer.carried(total * scale));
    if (carried > best.rate * (1 + rounding)) best = {std::move(layer.trees), carried};
    if (best.rate >= close_enough * total || best.rate * (1 + rounding) >= most) break;
  }
  return best;
}

} // namespace thalweg::algorithms
