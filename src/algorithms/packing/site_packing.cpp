#include "algorithms/packing/site_packing.hpp"

#include "optimization/arborescence.hpp"
#include "optimization/simplex.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace thalweg::algorithms {
namespace {

using Site = SiteGraph::Site;
using Costs = network::Matrix<double>;
constexpr Site no_site = SiteGraph::no_site;

/// The least relative gain for which another tree is added.
constexpr double least_gain_of_tree = 1e-3;
/// Limits the search: site graphs of 16 nodes get as many trees as they need.
constexpr double most_search_steps = 2e6;
/// The least relative gain for which a site is attached elsewhere.
constexpr double least_gain_of_move = 1e-6;
/// A tree with a smaller fraction of the whole isn't worth its messages.
constexpr double least_share = 0.01;

/// Whether a site is another one, or below it.
bool is_within(const SiteTree& tree, Site site, Site top) {
  while (site != no_site && site != top)
    site = tree.parents[index(site)];
  return site == top;
}

/// What tells in O(1) how much a tree for blocks gains if a site is attached elsewhere; by site.
struct Branches {
  std::vector<double> below; ///< share of the blocks at the site and below it
  std::vector<double> slope; ///< how much more each further share at the site costs above it
};

/// The packing problem of one graph of sites. Its rows are the trunks, the sites' ports together,
/// and the slowest host's port.
class Packer {
public:
  Packer(const SiteGraph& graph, const Packing& packing);
  std::vector<SiteTree> run();

private:
  [[nodiscard]] Site count() const { return static_cast<Site>(_graph.sites.size()); }
  [[nodiscard]] bool crosses(const SiteGraph::Trunk& trunk, Site from, Site to) const {
    return trunk.from[index(from)] && trunk.to[index(to)];
  }
  /// Returns how many times each byte passes a link within a site.
  [[nodiscard]] double passes() const { return _packing.crossing == Crossing::both ? 2 : 1; }
  [[nodiscard]] Costs link_costs(const std::vector<double>& prices) const;
  [[nodiscard]] SiteTree cheapest(const Costs& costs) const;
  [[nodiscard]] SiteTree cheapest_for_blocks(const Costs& costs) const;
  void improve(SiteTree& tree, double& cost, const Costs& costs) const;
  [[nodiscard]] Branches branches(const SiteTree& tree, const Costs& costs) const;
  /// Calls visit(from, to, share of the data) for each link that data crosses.
  template <class Visit>
  void for_each_crossing(const SiteTree& tree, Visit visit) const;
  [[nodiscard]] double cost(const SiteTree& tree, const Costs& costs) const;
  [[nodiscard]] std::vector<double> load(const SiteTree& tree) const;

  const SiteGraph& _graph;
  const Packing& _packing;
  std::vector<double> _capacities; ///< by row
  std::vector<double> _shares;     ///< by site: of the blocks
  double _far = 1;                 ///< the longest latency
};

Packer::Packer(const SiteGraph& graph, const Packing& packing) : _graph(graph), _packing(packing) {
  for (const SiteGraph::Trunk& trunk : graph.trunks)
    _capacities.push_back(trunk.capacity);
  double ranks = 0;
  for (const auto& site : graph.sites) {
    double sends = 0, own = 0;
    for (const network::HostId host : site) {
      sends += graph.egress[index(host)];
      own += static_cast<double>(graph.ranks[index(host)].size());
    }
    _capacities.push_back(sends);
    _shares.push_back(own);
    ranks += own;
  }
  for (double& share : _shares)
    share /= ranks;
  _capacities.push_back(packing.most);
  double far = 0;
  for (Site a = 0; a < count(); ++a)
    for (Site b = 0; b < count(); ++b)
      far = std::max(far, graph.latencies(a, b));
  if (far > 0) _far = far;
}

/// Returns the cost of sending all data over each link. Latency decides among links that cost
/// nothing.
Costs Packer::link_costs(const std::vector<double>& prices) const {
  Costs costs(index(count()));
  for (Site a = 0; a < count(); ++a)
    for (Site b = 0; b < count(); ++b) {
      const std::size_t port = _graph.trunks.size() + index(a);
      if (a != b) costs(a, b) = prices[port] / _capacities[port];
    }
  for (std::size_t trunk = 0; trunk < _graph.trunks.size(); ++trunk) {
    const double price = prices[trunk] / _capacities[trunk];
    if (price == 0) continue;
    const SiteGraph::Trunk& own = _graph.trunks[trunk];
    for (Site a = 0; a < count(); ++a)
      for (Site b = 0; own.from[index(a)] && b < count(); ++b)
        if (own.to[index(b)]) costs(a, b) += price;
  }
  for (Site a = 0; a < count(); ++a)
    for (Site b = 0; b < count(); ++b)
      if (a != b) costs(a, b) = costs(a, b) * _packing.most + 1e-5 * _graph.latencies(a, b) / _far;
  return costs;
}

SiteTree Packer::cheapest(const Costs& costs) const {
  if (_packing.crossing == Crossing::down)
    return {_packing.root, optimization::minimum_arborescence(costs, _packing.root)};
  if (_packing.crossing == Crossing::blocks) return cheapest_for_blocks(costs);
  Costs both(costs.size());
  for (Site a = 0; a < count(); ++a)
    for (Site b = 0; b < count(); ++b)
      both(a, b) = costs(a, b) + costs(b, a);
  return {0, optimization::minimum_spanning_tree(both, 0)};
}

SiteTree Packer::cheapest_for_blocks(const Costs& costs) const {
  Costs both(costs.size());
  for (Site a = 0; a < count(); ++a)
    for (Site b = 0; b < count(); ++b)
      both(a, b) = costs(a, b) + costs(b, a);
  SiteTree best{0, optimization::minimum_spanning_tree(both, 0)};
  double least = cost(best, costs);
  for (Site hub = 0; hub < count(); ++hub) {
    SiteTree star{hub, std::vector<Site>(index(count()), hub)};
    star.parents[index(hub)] = no_site;
    const double own = cost(star, costs);
    if (own < least) {
      least = own;
      best = std::move(star);
    }
  }
  improve(best, least, costs);
  return best;
}

/// Attaches sites elsewhere while that makes the tree cheaper: O(sites²) and O(sites) for each site
/// that moves. Whether a move gains enough, the whole tree's cost decides; it is looked at only for
/// moves that gain half of that by the costs of the links they change.
void Packer::improve(SiteTree& tree, double& cost_now, const Costs& costs) const {
  Branches now = branches(tree, costs);
  for (bool improved = true; improved;) {
    improved = false;
    for (Site site = 0; site < count(); ++site)
      for (Site parent = 0; parent < count(); ++parent) {
        const Site old = tree.parents[index(site)];
        if (old == no_site || old == parent) continue;
        const double share = now.below[index(site)];
        const auto cost_below = [&](Site above) {
          return (1 - share) * costs(above, site) + share * costs(site, above) +
                 share * now.slope[index(above)];
        };
        const double gain = cost_below(old) - cost_below(parent);
        if (gain <= cost_now * least_gain_of_move / 2 || is_within(tree, parent, site)) continue;
        tree.parents[index(site)] = parent;
        const double trial = cost(tree, costs);
        if (trial < cost_now * (1 - least_gain_of_move)) {
          cost_now = trial;
          now = branches(tree, costs);
          improved = true;
        } else {
          tree.parents[index(site)] = old;
        }
      }
    if (count() > 16) break;
  }
}

Branches Packer::branches(const SiteTree& tree, const Costs& costs) const {
  Branches made{_shares, std::vector<double>(_shares.size(), 0)};
  const std::vector<Site> order = tree.top_down();
  for (std::size_t at = order.size(); at-- > 1;)
    made.below[index(tree.parents[index(order[at])])] += made.below[index(order[at])];
  for (std::size_t at = 1; at < order.size(); ++at) {
    const Site site = order[at], parent = tree.parents[index(site)];
    made.slope[index(site)] = made.slope[index(parent)] + costs(site, parent) - costs(parent, site);
  }
  return made;
}

template <class Visit>
void Packer::for_each_crossing(const SiteTree& tree, Visit visit) const {
  std::vector<double> below = _shares;
  const std::vector<Site> order = tree.top_down();
  for (std::size_t at = order.size(); at-- > 1;) {
    const Site site = order[at], parent = tree.parents[index(site)];
    below[index(parent)] += below[index(site)];
    const bool blocks = _packing.crossing == Crossing::blocks;
    visit(parent, site, blocks ? 1 - below[index(site)] : 1.0);
    if (blocks) visit(site, parent, below[index(site)]);
    if (_packing.crossing == Crossing::both) visit(site, parent, 1.0);
  }
}

double Packer::cost(const SiteTree& tree, const Costs& costs) const {
  double sum = 0;
  for_each_crossing(tree,
                    [&](Site from, Site to, double share) { sum += share * costs(from, to); });
  return sum;
}

/// Returns the load by row, as fractions of its capacity, at `most` bytes per second.
std::vector<double> Packer::load(const SiteTree& tree) const {
  std::vector<double> load(_capacities.size(), 0);
  const std::size_t ports = _graph.trunks.size();
  for (Site site = 0; site < count(); ++site)
    load[ports + index(site)] =
        passes() * (static_cast<double>(_graph.sites[index(site)].size()) - 1);
  for_each_crossing(tree, [&](Site from, Site to, double share) {
    load[ports + index(from)] += share;
    for (std::size_t trunk = 0; trunk < ports; ++trunk)
      if (crosses(_graph.trunks[trunk], from, to)) load[trunk] += share;
  });
  load.back() = 1;
  for (std::size_t row = 0; row < load.size(); ++row)
    load[row] *= _packing.most / _capacities[row];
  return load;
}

std::vector<SiteTree> Packer::run() {
  optimization::Simplex simplex(_capacities.size());
  std::vector<SiteTree> trees;
  const auto sites = static_cast<double>(count());
  const auto rows = static_cast<double>(_capacities.size());
  const double steps = sites * sites * sites + 3 * rows * rows;
  const auto most = static_cast<std::size_t>(4 + most_search_steps / steps);
  while (trees.size() < most) {
    SiteTree tree = cheapest(link_costs(simplex.prices()));
    const std::vector<double> own = load(tree);
    double price = 0;
    for (std::size_t row = 0; row < own.size(); ++row)
      price += own[row] * simplex.prices()[row];
    if (price > 1 - least_gain_of_tree) break;
    simplex.enter(own);
    trees.push_back(std::move(tree));
  }
  const std::vector<double> rates = simplex.rates();
  double sum = 0;
  for (std::size_t at = 0; at < trees.size(); ++at)
    sum += rates[at];
  for (std::size_t at = 0; at < trees.size(); ++at)
    trees[at].rate = rates[at] < least_share * sum ? 0 : rates[at] * _packing.most;
  std::erase_if(trees, [](const SiteTree& tree) { return tree.rate <= 0; });
  std::ranges::stable_sort(trees, std::greater<>(), &SiteTree::rate);
  return trees;
}

} // namespace

std::vector<Site> SiteTree::top_down() const {
  std::vector<Site> order;
  std::vector<std::vector<Site>> children(parents.size());
  for (Site site = 0; std::cmp_less(site, parents.size()); ++site) {
    const Site parent = parents[index(site)];
    parent == no_site ? order.push_back(site) : children[index(parent)].push_back(site);
  }
  for (std::size_t at = 0; at < order.size(); ++at)
    order.insert(order.end(), children[index(order[at])].begin(), children[index(order[at])].end());
  return order;
}

std::vector<SiteTree> pack_site_trees(const SiteGraph& graph, const Packing& packing) {
  return Packer(graph, packing).run();
}

} // namespace thalweg::algorithms
