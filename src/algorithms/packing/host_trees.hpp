#pragma once

#include "algorithms/packing/site_packing.hpp"

#include <unordered_map>

namespace thalweg::algorithms {

/// A tree over the hosts of a SiteGraph.
struct HostTree {
  using HostId = network::HostId;
  std::vector<HostId> parents; ///< no_host at the root
  std::vector<HostId> order;   ///< as they join: parents first
  double rate = 0;             ///< bytes per second of the collective's data
};

struct HostTrees {
  std::vector<HostTree> trees;
  double rate = 0; ///< of all trees, limited by ports and single flows
};

/// Lays trees of sites over the hosts. Each is split into several, about `count` in all, so that no
/// single flow must carry more than it can, and so that most hosts serve others in one of the trees
/// and none in the rest: with as many trees as a host has children, all ports are full and the
/// trees are shallow. Within a site the hosts with the most capacity left serve as many others as
/// that allows; several hosts send to another site, each in different trees. Slow hosts become
/// leaves, slow links are avoided. O(count · hosts · log hosts) in practice.
/// Source: Castro et al.: SplitStream: High-Bandwidth Multicast in Cooperative Environments (a host
/// is an inner node of one tree).
/// @param root of all trees, or no_host: each has its own
HostTrees lay_host_trees(const SiteGraph& graph, const std::vector<SiteTree>& site_trees,
                         std::int32_t count, network::HostId root);

} // namespace thalweg::algorithms
