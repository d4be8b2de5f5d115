#pragma once

#include "algorithms/algorithm.hpp"

#include <limits>
#include <string>
#include <vector>

namespace thalweg::bounds {

using algorithms::Problem;

/// The hosts in use, and what of the network limits what passes between them whatever the schedule:
/// latencies at their lower, capacities at their upper confidence.
struct Reach {
  explicit Reach(const Problem& problem);

  static constexpr double unlimited = std::numeric_limits<double>::infinity();
  using HostId = network::HostId;

  /// What all flows from some hosts to others share.
  struct Trunk {
    std::string name;
    std::vector<HostId> from, to;
    double capacity;
  };

  [[nodiscard]] HostId size() const { return static_cast<HostId>(names.size()); }

  std::vector<std::string> names;
  std::vector<double> egress, ingress;
  network::Matrix<double> latency;  ///< of the pair itself
  network::Matrix<double> distance; ///< least sum of latencies along any path of hosts in use
  /// What a pair can carry. A pair's own rate was measured with one flow, which several flows may
  /// exceed, so it counts only where neither the ports at both ends nor a trunk are known.
  network::Matrix<double> pairs;
  std::vector<Trunk> trunks;        ///< those between hosts in use
  std::vector<HostId> host_of_rank; ///< hosts are numbered by their lowest ranks
};

} // namespace thalweg::bounds
