#pragma once

#include "algorithms/order.hpp"
#include "algorithms/site_graph.hpp"
#include "algorithms/sites/groups.hpp"
#include "network/host_classes.hpp"

#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace thalweg::algorithms {

/// Results about one network and placement, kept from one build() to the next. Each is computed at
/// its first use.
class Cache {
public:
  template <class Find>
  const std::vector<Rank>& order(Rank first, Shape shape, Find find) {
    return kept(_orders[{first, shape}], find);
  }
  template <class Find>
  Rank central(Find find) {
    return kept(_central, find);
  }
  template <class Find>
  const SiteGraph& site_graph(DataFlow flow, Find find) {
    return kept(_site_graphs[flow], find);
  }
  template <class Find>
  const Dendrogram& dendrogram(Find find) {
    return kept(_dendrogram, find);
  }

  template <class Find>
  std::shared_ptr<const network::TrunkSets> trunk_sets(Find find) {
    return kept(_trunk_sets, find);
  }

private:
  template <class Fact, class Find>
  static const Fact& kept(std::optional<Fact>& fact, Find find) {
    if (!fact) fact.emplace(find());
    return *fact;
  }

  std::map<std::pair<Rank, Shape>, std::optional<std::vector<Rank>>> _orders;
  std::optional<Rank> _central;
  std::optional<std::shared_ptr<const network::TrunkSets>> _trunk_sets;
  std::map<DataFlow, std::optional<SiteGraph>> _site_graphs;
  std::optional<Dendrogram> _dendrogram;
};

/// Returns the trunks between hosts of the problem's network, kept in its cache if it has one.
std::shared_ptr<const network::TrunkSets> trunk_sets(const Problem& problem);

} // namespace thalweg::algorithms
