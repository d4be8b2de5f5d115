#pragma once

#include "bounds/crossings.hpp"
#include "bounds/reach.hpp"
#include "bounds/windows.hpp"
#include "optimization/max_flow.hpp"

#include <string>
#include <vector>

namespace thalweg::bounds {

using optimization::MaxFlow;

/// A gain of a bound below this fraction is rounding.
inline constexpr double least_gain = 1e-9;

/// Data that starts at one host and must end at others.
struct Demand {
  HostId source = 0;
  std::vector<double> bytes; ///< by host; none at the source
  std::string path;          ///< for people: "host0 -> host1"
};

/// Finds the set of ports, pairs and trunks that most delays data between hosts.
///
/// Proof: follow each byte from the source to its sink. It crosses the cut at one resource x of the
/// set: not before a_x, the least latency from the source to x, and not after T - b_x, where b_x is
/// the least latency from x to the nearest sink. So at most Σ_x capacity_x · max(0, T - a_x - b_x)
/// bytes cross the cut, and the least T for which this reaches the demand is a bound. A pair's data
/// also needs the pair's own latency. For a given T the set that falls short most is a minimum cut
/// of a graph in which an arc leads from each sink to a common one with the sink's demand as
/// capacity, so a few maximum flows find the set with the largest T.
///
/// A trunk lies at one place: what goes from p to q reaches it some u_p after leaving p, and q some
/// v_q after passing it, u_p + v_q = L_pq. Where it lies isn't known and doesn't matter: a_x + b_x
/// is min_p (d(source, p) + u_p) + min_q (v_q + d(q, sink)), which for the p and q of both minima
/// is d(source, p) + L_pq + d(q, sink). The simulators let a trunk act where data leaves its
/// sender, even where latencies aren't such sums. So what counts is a little less: the least
/// d(source, p), and the least L_pq + d(q, sink) from any p; with time running backwards, the
/// reverse.
class Cuts {
public:
  explicit Cuts(const Reach& reach);

  /// A time below which no schedule meets the demand, and the cut that sets it.
  struct Result {
    double time = 0;
    std::string reason; ///< empty if the bound doesn't exceed the given time
  };
  /// Returns the bound if it exceeds `time`.
  Result exceed(double time, const Demand& demand);
  /// Does the same for `bytes` from one host to another.
  Result exceed(double time, HostId source, HostId sink, double bytes);

private:
  struct Resource {
    std::string name = {}; ///< empty for a resource with latency but unlimited capacity
    double capacity = Reach::unlimited;
    HostId from = network::no_host, to = network::no_host; ///< for a port or pair; equal for a port
    std::int32_t trunk = Crossings::no_trunk;
    std::int32_t hub = -1; ///< index of the hub that this is, or -1
    bool sends = false;    ///< for a port: outgoing
  };
  struct Graph {
    MaxFlow flow;
    MaxFlow::Node sink;
    std::vector<Resource> resources; ///< by arc; those of the sinks follow, by host
    std::vector<Hub> hubs;
    std::vector<Distances> latencies; ///< by hub: latencies_of()

    void add(MaxFlow::Node from, MaxFlow::Node to, Resource resource);
  };
  /// Least latencies from the source, to the nearest sink, and to the nearest sink elsewhere.
  struct Ends {
    Distances before, after, after_leaving;
  };
  void add_graph(const Crossings& crossings, std::vector<Hub> hubs);
  void add_ports(Graph& graph) const;
  void add_hubs(const Crossings& crossings, Graph& graph) const;
  /// Returns what lies between a host and a hub: the pairs that cross it carry no more together.
  [[nodiscard]] Resource pairs_through(const Crossings& crossings, const Hub& hub, HostId host,
                                       bool sends) const;
  /// Adds the pairs whose data crosses no trunk.
  void add_pairs(const Crossings& crossings, Graph& graph) const;
  [[nodiscard]] MaxFlow::Node out(HostId host) const { return _reach.size() + host; }
  [[nodiscard]] MaxFlow::Node in(HostId host) const { return 2 * _reach.size() + host; }
  /// Returns the node where data enters a hub; it leaves at the next one.
  [[nodiscard]] MaxFlow::Node hub_node(std::size_t hub) const {
    return 3 * _reach.size() + 2 * static_cast<MaxFlow::Node>(hub);
  }
  /// Returns the least latency to each receiver from a sender or, with time running backwards, from
  /// each sender to a receiver.
  [[nodiscard]] Distances latencies_of(const Hub& hub) const;
  [[nodiscard]] Ends ends_of(const Demand& demand) const;
  [[nodiscard]] double latency_of(const Graph& graph, const Resource& resource,
                                  const Ends& ends) const;
  [[nodiscard]] double latency_of(const Hub& hub, const Distances& latencies,
                                  const Ends& ends) const;
  [[nodiscard]] std::string describe(const Graph& graph, const std::vector<MaxFlow::Arc>& cut,
                                     const std::vector<Window>& windows, const Demand& demand,
                                     double bytes, double time) const;

  const Reach& _reach;
  /// Each is an upper limit of what can flow. They differ in the trunk that counts where a pair
  /// crosses several; of very many trunks only the scarcest are tried.
  std::vector<Graph> _graphs;
};

} // namespace thalweg::bounds
