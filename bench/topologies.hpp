#pragma once

#include "bench/simulated_prober.hpp"

#include <numeric>

/// Networks of sites that are drawn from seeds.
namespace thalweg::probe::simulated {

/// The networks that the probe is judged by have the seeds below this.
inline constexpr unsigned drawn_networks = 40;

/// An undirected graph of switches; each site hangs on one.
struct Graph {
  std::string name;
  std::size_t nodes = 0;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  std::vector<std::size_t> place; ///< by site
};

inline Graph chain(std::size_t sites) {
  Graph graph{"chain", sites, {}, std::vector<std::size_t>(sites)};
  std::iota(graph.place.begin(), graph.place.end(), 0U);
  for (std::size_t s = 1; s < sites; ++s)
    graph.edges.emplace_back(s - 1, s);
  return graph;
}
inline Graph ring(std::size_t sites) {
  auto graph = chain(sites);
  graph.name = "ring";
  if (sites > 2) graph.edges.emplace_back(sites - 1, 0);
  return graph;
}
inline Graph star(std::size_t sites) {
  Graph graph{"star", sites + 1, {}, std::vector<std::size_t>(sites)};
  std::iota(graph.place.begin(), graph.place.end(), 0U);
  for (std::size_t s = 0; s < sites; ++s)
    graph.edges.emplace_back(s, sites);
  return graph;
}
/// A binary tree of switches with the sites at its leaves.
inline Graph tree(std::size_t sites) {
  Graph graph{"tree", 2 * sites - 1, {}, {}};
  for (std::size_t node = 1; node < graph.nodes; ++node)
    graph.edges.emplace_back((node - 1) / 2, node);
  for (std::size_t s = 0; s < sites; ++s)
    graph.place.push_back(graph.nodes - sites + s);
  return graph;
}

/// A link from each site to each other.
inline Graph mesh(std::size_t sites) {
  Graph graph{"mesh", sites, {}, std::vector<std::size_t>(sites)};
  std::iota(graph.place.begin(), graph.place.end(), 0U);
  for (std::size_t a = 0; a < sites; ++a)
    for (std::size_t b = a + 1; b < sites; ++b)
      graph.edges.emplace_back(a, b);
  return graph;
}

/// Returns the nodes on a shortest path, both ends included; always the same one of several.
inline std::vector<std::size_t> path(const Graph& graph, std::size_t from, std::size_t to) {
  std::vector<std::size_t> before(graph.nodes, graph.nodes), queue{from};
  before[from] = from;
  for (std::size_t at = 0; at < queue.size(); ++at)
    for (auto [a, b] : graph.edges)
      for (auto [here, there] : {std::pair(a, b), std::pair(b, a)})
        if (here == queue[at] && before[there] == graph.nodes)
          before[there] = here, queue.push_back(there);
  std::vector<std::size_t> nodes{to};
  while (nodes.back() != from)
    nodes.push_back(before[nodes.back()]);
  std::ranges::reverse(nodes);
  return nodes;
}

/// Draws a network: 2 to 8 sites on a chain, a ring, a star, a tree or a mesh, or racks inside
/// sites; up to 32 hosts. The links of half of the networks carry less than the hosts behind them
/// can send.
class Drawing {
public:
  explicit Drawing(unsigned seed) : _seed(seed), _random(seed) {}

  Topology draw() {
    constexpr unsigned kinds = 6;
    const unsigned kind = _seed % kinds;
    const bool racks = kind == 4;
    const auto sites = static_cast<std::size_t>(whole(2, racks ? 3 : 8));
    const Graph graph = kind == 0   ? chain(sites)
                        : kind == 1 ? ring(sites)
                        : kind == 2 ? star(sites)
                        : kind == 5 ? mesh(sites)
                                    : tree(sites);
    _narrow = (_seed / kinds) % 2 == 0;
    _directed = whole(0, 1) == 1;
    const auto most = std::min<int>(8, 32 / static_cast<int>(sites));
    const int size = whole(std::min(2, most), most);
    std::vector<std::size_t> site;
    for (std::size_t s = 0; s < sites; ++s)
      site.insert(site.end(),
                  static_cast<std::size_t>(racks              ? std::max(size, 6)
                                           : whole(0, 1) == 1 ? size
                                                              : whole(kind == 5 ? 2 : 1, most)),
                  s);
    Topology net = hosts(graph, site);
    net.name = (racks ? "racks" : graph.name) + std::to_string(sites) + (_narrow ? " narrow" : "") +
               (_directed ? " directed" : "") + " #" + std::to_string(_seed);
    net.shared = racks || _narrow;
    if (racks) add_racks(net, site);
    if (!racks || _narrow) add_links(net, graph, site);
    return net;
  }

private:
  int whole(int least, int most) { return std::uniform_int_distribution(least, most)(_random); }
  double real(double least, double most) {
    return std::uniform_real_distribution(least, most)(_random);
  }
  Topology hosts(const Graph& graph, const std::vector<std::size_t>& site) {
    Topology net;
    const auto count = site.size();
    net.latency = network::Matrix<Time>(count);
    net.rate = network::Matrix<Rate>(count);
    const double hop = real(2e-3, 10e-3);
    for (std::size_t h = 0; h < count; ++h) {
      const Rate rate(1e6 * real(11, 13));
      net.egress.push_back(rate), net.ingress.push_back(rate);
    }
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b < count; ++b) {
        const auto i = static_cast<HostId>(a), j = static_cast<HostId>(b);
        const auto hops = path(graph, graph.place[site[a]], graph.place[site[b]]).size() - 1;
        net.latency(i, j) = Time(1e-4 * real(1, 1.05) + hop * static_cast<double>(hops));
        net.rate(i, j) = std::min(net.egress[a], net.ingress[b]);
      }
    return net;
  }
  /// Gives each direction of each edge a capacity.
  void add_links(Topology& net, const Graph& graph, const std::vector<std::size_t>& site) {
    for (auto [a, b] : graph.edges) {
      const double both = real(0.3, 0.8);
      for (auto [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        Link link{"", network::Matrix<char>(site.size(), 0), {}};
        std::vector<bool> sends(site.size()), takes(site.size());
        for (std::size_t i = 0; i < site.size(); ++i)
          for (std::size_t j = 0; j < site.size(); ++j) {
            const auto nodes = path(graph, graph.place[site[i]], graph.place[site[j]]);
            for (std::size_t k = 1; k < nodes.size(); ++k)
              if (nodes[k - 1] == from && nodes[k] == to) {
                link.carries(static_cast<HostId>(i), static_cast<HostId>(j)) = 1;
                sends[i] = takes[j] = true;
              }
          }
        const auto most =
            std::min(std::ranges::count(sends, true), std::ranges::count(takes, true));
        if (most == 0) continue;
        const double fill = (_directed ? real(0.3, 0.8) : both) * (_narrow ? 1 : 4);
        link.name = std::to_string(from) + "->" + std::to_string(to);
        link.capacity = Rate(12e6 * fill * static_cast<double>(most));
        net.links.push_back(std::move(link));
      }
    }
  }
  /// Puts the hosts of each site into two racks; the first has a slow uplink.
  void add_racks(Topology& net, const std::vector<std::size_t>& site) {
    for (std::size_t s = 0; s <= site.back(); ++s) {
      std::vector<std::size_t> members;
      for (std::size_t h = 0; h < site.size(); ++h)
        if (site[h] == s) members.push_back(h);
      const auto size = static_cast<std::size_t>(whole(2, static_cast<int>(members.size()) - 2));
      for (const bool out : {true, false}) {
        Link link{"rack of " + std::to_string(s) + (out ? " up" : " down"),
                  network::Matrix<char>(site.size(), 0),
                  Rate(12e6 * real(0.4, 0.7) * static_cast<double>(size))};
        for (std::size_t inner = 0; inner < size; ++inner)
          for (std::size_t outer = 0; outer < site.size(); ++outer)
            if (std::find(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(size),
                          outer) == members.begin() + static_cast<std::ptrdiff_t>(size)) {
              const auto i = static_cast<HostId>(members[inner]), o = static_cast<HostId>(outer);
              (out ? link.carries(i, o) : link.carries(o, i)) = 1;
            }
        net.links.push_back(std::move(link));
      }
    }
  }

  unsigned _seed;
  std::mt19937 _random;
  bool _narrow = false, _directed = false;
};

} // namespace thalweg::probe::simulated
