#pragma once

#include "bounds/reach.hpp"
#include "bounds/windows.hpp"
#include "optimization/max_flow.hpp"

#include <string>
#include <vector>

namespace thalweg::bounds {

using optimization::MaxFlow;

/// Data that starts at one host and has to be at others in the end.
struct Demand {
  HostId source = 0;
  std::vector<double> bytes; ///< by host; none at the source
  std::string way;           ///< for people: "host0 -> host1"
};

/// Finds the set of ports, pairs and trunks that most delays data on its way between hosts.
///
/// Proof: follow each byte on its way from the source to its sink. On a cut it passes one resource
/// x of the set: not before a_x, the least latency from the source to x, and not after T - b_x,
/// where b_x is that from x to the nearest sink. So what has to pass the cut is at most Σ_x
/// capacity_x · max(0, T - a_x - b_x), and the least T that satisfies it is a bound. A pair also
/// passes its own latency. Where along its latency a trunk lies isn't known, so none of the pair's
/// is counted there. For a T the set that lacks most is a minimum cut of a graph with an arc of its
/// demand from each sink to a common one, so a few maximum flows find the set with the largest T.
class Cuts {
public:
  explicit Cuts(const Reach& reach);

  /// A time that nothing that meets the demand undercuts, and what sets it.
  struct Result {
    double time = 0;
    std::string reason; ///< empty if the time given could not be exceeded
  };
  /// The bound, if it exceeds `time`.
  Result exceed(double time, const Demand& demand);
  /// That of `bytes` from one host to another.
  Result exceed(double time, HostId source, HostId sink, double bytes);

private:
  struct Resource {
    std::string name; ///< empty for what has no capacity, only latency
    double capacity;
    HostId from, to;    ///< of a port or pair: equal for a port
    std::int32_t trunk; ///< or none: -1
    bool sends = false; ///< of a port: the way out
  };
  struct Graph {
    MaxFlow flow;
    std::vector<Resource> resources; ///< by arc; those of the sinks follow, by host
  };
  /// Least latencies from the source, to the nearest sink, and to the nearest one elsewhere.
  struct Ends {
    Distances before, after, after_leaving;
  };
  void add_graph(std::int32_t preferred_trunk);
  [[nodiscard]] Ends ends_of(const Demand& demand) const;
  [[nodiscard]] double latency_of(const Resource& resource, const Ends& ends) const;
  [[nodiscard]] std::string describe(const Graph& graph, const std::vector<MaxFlow::Arc>& cut,
                                     const std::vector<Window>& windows, const Demand& demand,
                                     double bytes, double time) const;

  const Reach& _reach;
  std::vector<Graph> _graphs; ///< differ in the trunk that counts where a pair crosses several
};

} // namespace thalweg::bounds
