#pragma once

#include "network/network.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The inside of a host as a small network, on which ranks are placed as they are on hosts.
namespace thalweg::mapping {

/// A core that a rank is bound to.
struct Core {
  std::int32_t number = 0;              ///< hwloc's logical number
  std::vector<std::int32_t> processors; ///< as the operating system numbers them, ascending
};

/// Cores for a number of ranks, and what is between them.
struct Inside {
  std::vector<Core> cores; ///< one for each rank; a core may serve several
  /// A host for each core, in the same order. Nobody measures caches and buses: two ranks of a core
  /// take 50 ns and 8 GB/s, and each level of the hierarchy above doubles and halves that. So what
  /// is compared is by how many levels ranks are apart.
  network::Network network;
};

/// Whether this build has hwloc.
[[nodiscard]] bool has_hwloc();

/// Spreads ranks evenly over a host's packages, caches and cores, as hwloc does.
/// @param topology "this" for this machine, a file of lstopo that ends in ".xml", or a synthetic
/// description as hwloc reads it: "package:2 l3cache:2 core:4 pu:2"; without "pu" a core has one
/// @throws std::invalid_argument if it is none of these, there are no ranks, or this build has no
/// hwloc
Inside inside(const std::string& topology, std::int32_t ranks);

} // namespace thalweg::mapping
