#pragma once

#include "algorithms/algorithm.hpp"

#include <span>
#include <vector>

namespace thalweg::algorithms {

/// Chunks per member of the largest site: the parts of other sites' members, and of the senders,
/// are equal to within one chunk.
inline constexpr ChunkId chunks_per_member = 16;

/// Groups the ranks of a problem by site: the root's site first, then the others, the farthest
/// first. Within a site ranks are ordered by closeness, beginning with the root or the rank that
/// reaches the other sites best. If the network has no sites, all ranks form one. Fills `order`,
/// `site_begins`, `senders` and `chunks` of a skeleton; the entry of `senders` from a site to
/// itself is its number of owners.
void lay_out_sites(const Problem& problem, const Parameters& parameters, Skeleton& skeleton);

/// Knows the paths between sites and how many ranks should send along each at once.
/// Source: Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast
/// Networks, sections 2.4 and 2.5; there the number is found by measuring.
class SitePaths {
public:
  /// @param sites the ranks by site; a rooted collective only uses the paths from or to the first
  /// one. The arguments must outlive it.
  SitePaths(const Problem& problem, const std::vector<std::vector<Rank>>& sites);
  /// Returns the senders that fill the path between two sites: the measured number, else the
  /// trunk's capacity divided by the rate of one flow. A trunk that several paths share is divided
  /// among them. At least 1, at most the ranks of the smaller site.
  [[nodiscard]] Rank senders(std::size_t from, std::size_t to) const;
  /// Returns how many of a site's ranks send or receive, at most, given Skeleton::senders.
  [[nodiscard]] Rank owners(std::size_t site, std::span<const Rank> senders) const;

private:
  /// A trunk, the sites it connects, and how many used paths cross it.
  struct Crossed {
    const network::Trunk& trunk;
    std::vector<bool> from, to;
    int paths = 0;
  };
  [[nodiscard]] bool is_used(std::size_t from, std::size_t to) const;

  const Problem& _problem;
  const std::vector<std::vector<Rank>>& _sites;
  std::vector<Crossed> _trunks;
};

} // namespace thalweg::algorithms
