#pragma once

#include "bounds/max_flow.hpp"
#include "bounds/reach.hpp"
#include "bounds/windows.hpp"

#include <string>
#include <vector>

namespace thalweg::bounds {

/// Finds the set of ports, pairs and trunks that most delays data on its way between two hosts.
///
/// Proof: follow each byte on its way from source to sink. On a cut it passes one resource x of the
/// set: not before a_x, the least latency from the source to x, and not after T - b_x, where b_x is
/// that from x to the sink. So size ≤ Σ_x capacity_x · max(0, T - a_x - b_x), and the least T that
/// satisfies it is a bound. A pair also passes its own latency. Where along its latency a trunk
/// lies isn't known, so none of the pair's is counted there. For a T the set of the least sum is a
/// minimum cut, so a few maximum flows find the set with the largest T.
class Cuts {
public:
  using HostId = network::HostId;
  explicit Cuts(const Reach& reach);

  /// A time that no transport of `size` bytes from source to sink undercuts, and what sets it.
  struct Result {
    double time = 0;
    std::string reason; ///< empty if the time given could not be exceeded
  };
  /// The bound, if it exceeds `time`.
  Result exceed(double time, HostId source, HostId sink, units::Size size);

private:
  struct Resource {
    std::string name; ///< empty for what has no capacity, only latency
    double capacity;
    HostId from, to;    ///< of a port or pair: equal for a port
    std::int32_t trunk; ///< or none: -1
  };
  struct Graph {
    MaxFlow flow;
    std::vector<Resource> resources; ///< by arc
  };
  void add_graph(std::int32_t preferred_trunk);
  [[nodiscard]] double latency_of(const Resource& resource, HostId source, HostId sink) const;

  const Reach& _reach;
  std::vector<Graph> _graphs; ///< differ in the trunk that counts where a pair crosses several
};

} // namespace thalweg::bounds
