#pragma once

#include "algorithms/order.hpp"
#include "algorithms/site_graph.hpp"
#include "algorithms/sites/groups.hpp"
#include "algorithms/trees/rank_hierarchy.hpp"
#include "network/host_classes.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

namespace thalweg::algorithms {

/// Results about one network and placement, kept from one build() to the next. Each is computed
/// once, at its first use. Several threads may use it.
class Cache {
public:
  template <class Find>
  const std::vector<Rank>& order(Rank first, Shape shape, Find find) {
    return kept(at(_orders, std::pair(first, shape)), find);
  }
  template <class Find>
  Rank central(Find find) {
    return kept(_central, find);
  }
  template <class Find>
  const SiteGraph& site_graph(DataFlow flow, Find find) {
    return kept(at(_site_graphs, flow), find);
  }
  template <class Find>
  const Dendrogram& dendrogram(Find find) {
    return kept(_dendrogram, find);
  }
  /// The groups of a hierarchy of latencies, which is the same for messages of any size.
  template <class Find>
  const RankGroup& latency_groups(const network::HierarchyOptions& options, Find find) {
    const LatencyKey key(options.base, options.most_span, options.adjust, options.scale);
    return kept(at(_latency_groups, key), find);
  }

  template <class Find>
  std::shared_ptr<const network::TrunkSets> trunk_sets(Find find) {
    return kept(_trunk_sets, find);
  }

private:
  using LatencyKey = std::tuple<double, std::int32_t, network::Adjust, network::Scale>;

  template <class Fact>
  struct Kept {
    std::once_flag once;
    std::optional<Fact> fact;
  };

  /// Other facts may be asked for while one is computed.
  template <class Fact, class Find>
  static const Fact& kept(Kept<Fact>& kept, Find find) {
    std::call_once(kept.once, [&] { kept.fact.emplace(find()); });
    return *kept.fact;
  }
  template <class Key, class Fact>
  Kept<Fact>& at(std::map<Key, Kept<Fact>>& facts, const Key& key) {
    const std::lock_guard lock(_mutex);
    return facts[key];
  }

  std::mutex _mutex; ///< of the maps, not of their elements
  std::map<std::pair<Rank, Shape>, Kept<std::vector<Rank>>> _orders;
  Kept<Rank> _central;
  Kept<std::shared_ptr<const network::TrunkSets>> _trunk_sets;
  std::map<DataFlow, Kept<SiteGraph>> _site_graphs;
  Kept<Dendrogram> _dendrogram;
  std::map<LatencyKey, Kept<RankGroup>> _latency_groups;
};

/// Returns the trunks between hosts of the problem's network, kept in its cache if it has one.
std::shared_ptr<const network::TrunkSets> trunk_sets(const Problem& problem);

} // namespace thalweg::algorithms
