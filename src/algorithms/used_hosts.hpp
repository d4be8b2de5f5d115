#pragma once

#include "algorithms/algorithm.hpp"

#include <vector>

namespace thalweg::algorithms {

/// The hosts on which ranks run, numbered from 0 by their lowest ranks.
struct UsedHosts {
  /// O(hosts of the network + ranks).
  UsedHosts(const Network& network, const Placement& placement);

  [[nodiscard]] network::HostId size() const { return static_cast<network::HostId>(hosts.size()); }

  std::vector<network::HostId> hosts;   ///< by number: the host of the network
  std::vector<network::HostId> number;  ///< by host of the network; no_host: it has no rank
  std::vector<std::vector<Rank>> ranks; ///< by number, ascending
};

} // namespace thalweg::algorithms
