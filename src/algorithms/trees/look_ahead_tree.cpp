/// A tree for short messages that looks ahead: the rank that is free first serves next, and first
/// serves where the longest path remains. That is a site that nobody has reached yet, the farthest
/// and largest first; then ranks of the server's own site. If all ranks are of one site it is the
/// postal tree.
/// Source: Bhat, Raghavendra, Prasanna: Efficient Collective Communication in Distributed
/// Heterogeneous Systems (earliest completing edge first with look-ahead).
#include "algorithms/quick.hpp"
#include "algorithms/site_graph.hpp"
#include "algorithms/trees/tree.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;
using network::HostId;
using Site = SiteGraph::Site;

/// Returns the directions in which a tree of the collective carries data.
DataFlow directions_of(collective::Kind kind) {
  if (!flows_up(kind)) return DataFlow::spread;
  return flows_down(kind) ? DataFlow::both : DataFlow::collect;
}

class LookAheadGrowth {
public:
  LookAheadGrowth(const Problem& problem, Rank root)
      : parents(problem.placement.size(), no_rank), order({root}),
        _graph(site_graph(problem, directions_of(problem.collective.kind))),
        _bytes(static_cast<double>(problem.collective.size)), _host_of(parents.size()),
        _send(std::max(1e-6, problem.cost.send.value())), _receive(problem.cost.receive.value()),
        _waiting(_graph.sites.size()), _reached(_graph.sites.size(), 0) {
    for (HostId host = 0; host < _graph.size(); ++host)
      for (const Rank rank : _graph.ranks[index(host)]) {
        _host_of[index(rank)] = host;
        if (rank != root) _waiting[index(site_of(rank))].push_back(rank);
      }
    for (const auto& site : _waiting)
      _tails.push_back(spreading_time(site));
    _reached[index(site_of(root))] = 1;
  }

  void run() {
    using Free = std::tuple<double, std::size_t, Rank>; // free from, number by joining
    std::priority_queue<Free, std::vector<Free>, std::greater<>> servers;
    servers.emplace(0, 0, order.front());
    while (order.size() < parents.size()) {
      const auto [time, joined, first] = servers.top();
      const Rank server = first; // clang 14 can't capture a structured binding
      servers.pop();
      const Site site = next_site(server);
      if (site == SiteGraph::no_site) continue; // the remaining ranks are served by others
      auto& waiting = _waiting[index(site)];
      const auto next = std::ranges::min_element(
          waiting, {}, [&](Rank rank) { return busy(server, rank) + transit(server, rank); });
      const Rank rank = *next;
      waiting.erase(next);
      _reached[index(site)] = 1;
      parents[index(rank)] = server;
      servers.emplace(time + busy(server, rank), joined, server);
      servers.emplace(time + busy(server, rank) + transit(server, rank), order.size(), rank);
      order.push_back(rank);
    }
  }

  std::vector<Rank> parents, order;

private:
  [[nodiscard]] HostId host(Rank rank) const { return _host_of[index(rank)]; }
  [[nodiscard]] Site site_of(Rank rank) const { return _graph.site_of[index(host(rank))]; }
  /// Returns for how many seconds a message keeps its sender busy.
  [[nodiscard]] double busy(Rank from, Rank to) const {
    if (host(from) == host(to)) return _send;
    return _send +
           _bytes / std::min({_graph.bandwidth(host(from), host(to)),
                              _graph.egress[index(host(from))], _graph.ingress[index(host(to))]});
  }
  /// Returns the seconds after that until the receiver can send.
  [[nodiscard]] double transit(Rank from, Rank to) const {
    return _graph.latency(host(from), host(to)) + _receive;
  }
  /// Returns about how long a site takes until all ranks have what one has, as if all were alike.
  [[nodiscard]] double spreading_time(const std::vector<Rank>& ranks) const {
    if (ranks.size() < 2) return 0;
    const double one = busy(ranks[0], ranks[1]) + transit(ranks[0], ranks[1]);
    double time = 0;
    for (std::size_t reached = 1; reached < ranks.size(); reached *= 2)
      time += one;
    return time;
  }
  /// Returns the site with the longest remaining path; no_site if no rank waits.
  [[nodiscard]] Site next_site(Rank server) const {
    const Site own = site_of(server);
    Site best = SiteGraph::no_site;
    double longest = 0;
    for (Site site = 0; std::cmp_less(site, _waiting.size()); ++site) {
      const auto& waiting = _waiting[index(site)];
      if (_reached[index(site)] || waiting.empty()) continue;
      const double rest = transit(server, waiting.front()) + _tails[index(site)];
      if (best == SiteGraph::no_site || rest > longest) {
        longest = rest;
        best = site;
      }
    }
    return best == SiteGraph::no_site && !_waiting[index(own)].empty() ? own : best;
  }

  SiteGraph _graph;
  double _bytes;
  std::vector<HostId> _host_of;
  double _send, _receive; ///< seconds per message; never nothing to send, or one would serve all
  std::vector<std::vector<Rank>> _waiting; ///< by site
  std::vector<char> _reached;              ///< by site
  std::vector<double> _tails;              ///< by site
};

class LookAheadTree final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "look-ahead-tree"; }
  [[nodiscard]] std::string_view source() const override {
    return "Bhat, Raghavendra, Prasanna: Efficient Collective Communication in Distributed "
           "Heterogeneous Systems (earliest completing edge first with look-ahead)";
  }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override {
    return ranks <= most_squared_ranks;
  }
  /// O(ranks²).
  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    LookAheadGrowth growth(problem, natural_root(problem));
    growth.run();
    return tree(problem, parameters, std::move(growth.order), std::move(growth.parents));
  }
};

} // namespace

const Algorithm& look_ahead_tree() {
  static const LookAheadTree algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
