#pragma once

#include "algorithms/algorithm.hpp"

#include <optional>
#include <vector>

namespace thalweg::planner {

using algorithms::Skeleton;
using collective::Rank;

/// A permutation of the ranks that exchanges two of them and under which the network between their
/// hosts is the same, value by value. A schedule whose ranks are exchanged then takes as long as
/// before, but for the order of messages of one step.
class Mirror {
public:
  /// Exchanges two ranks, or the ranks of their hosts, or those of their sites, host by host.
  /// Returns none if the network isn't the same then. O(hosts × hosts exchanged + trunks × hosts).
  static std::optional<Mirror> find(const network::Network& network,
                                    const network::Placement& placement, Rank first, Rank second);
  /// Exchanges two ranks of one host, under which every network is the same. O(ranks).
  static Mirror within_host(Rank ranks, Rank first, Rank second);
  /// Returns the skeleton of a rooted collective with its ranks exchanged, of an algorithm that
  /// knows ranks by their numbers in the skeleton only: any but "listed".
  [[nodiscard]] Skeleton operator()(const Skeleton& skeleton) const;
  [[nodiscard]] Rank operator()(Rank rank) const { return _image[static_cast<std::size_t>(rank)]; }

private:
  explicit Mirror(std::vector<Rank> image) : _image(std::move(image)) {}

  std::vector<Rank> _image; ///< by rank
};

} // namespace thalweg::planner
