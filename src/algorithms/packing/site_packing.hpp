#pragma once

#include "algorithms/site_graph.hpp"

namespace thalweg::algorithms {

/// A tree over the sites, and the share of the data that flows along it.
struct SiteTree {
  SiteGraph::Site root = 0;
  std::vector<SiteGraph::Site> parents; ///< no_site at the root
  double rate = 0;                      ///< bytes per second of the collective's data
  /// Returns the sites, each after its parent.
  [[nodiscard]] std::vector<SiteGraph::Site> top_down() const;
};

/// The data that crosses a link between a tree's site and its parent, as a share of the tree's
/// data.
enum class Crossing : std::uint8_t {
  down,   ///< all to the child (bcast)
  both,   ///< all in each direction (allreduce)
  blocks, ///< to the child what it lacks, to the parent what lies below (allgather)
};

struct Packing {
  Crossing crossing = Crossing::down;
  SiteGraph::Site root = SiteGraph::no_site; ///< of all trees; no_site: each has its own
  double most = 0; ///< bytes per second of all trees that no host's port exceeds
};

/// Returns trees that together have the largest rate that trunks and the sites' ports carry, the
/// fastest tree first; among equals the ones of short latency. With Crossing::down and both the
/// rate is the optimum: the packing of spanning trees is a linear program with a column for each
/// tree, of which the simplex method asks only for the cheapest at the current prices of the
/// capacities: a minimum arborescence (Chu, Liu; Edmonds), or without a direction a minimum
/// spanning tree. With blocks, where a link's load depends on the tree, a local search finds the
/// column. There are at most as many trees as full capacities.
std::vector<SiteTree> pack_site_trees(const SiteGraph& graph, const Packing& packing);

} // namespace thalweg::algorithms
