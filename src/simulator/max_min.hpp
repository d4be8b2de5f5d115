#pragma once

#include "simulator/ports.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace thalweg::simulator {

/// Max-min fair rates of flows that come and go, by progressive filling: all flows grow alike, each
/// until its own limit or until a port on its path is full.
///
/// Only flows that a change reaches are filled anew: new flows, flows held by a port that another
/// flow leaves, and, from these on, flows then held by a port with room, or faster than one that a
/// port holds. When none is left, every flow has its limit or a full port on which no flow is
/// faster, and the rates with this property are unique (Bertsekas and Gallager, Data Networks,
/// section 6.5).
class MaxMin {
public:
  using FlowId = std::int32_t;

  /// @param capacities bytes per second, by port
  /// @param flows the most flows at the same time
  MaxMin(std::span<const double> capacities, std::size_t flows);
  /// @param limit bytes per second; may be infinite
  /// @param ports a port named twice carries the flow twice
  void add(FlowId flow, double limit, std::span<const PortId> ports);
  void remove(FlowId flow);
  /// Computes the rates after all changes since the last call. For the flows that the changes
  /// reach O(flows × ports per flow), and in each round, of which there is at most one for each
  /// different rate, O(their ports + flows of the ports that are full then).
  /// @returns the flows whose rates have changed
  std::span<const FlowId> solve();
  /// Returns bytes per second, as of the last solve().
  [[nodiscard]] double rate(FlowId flow) const {
    return _flows[static_cast<std::size_t>(flow)].rate;
  }

private:
  struct Flow {
    double limit = 0;
    std::span<const PortId> ports;
    double rate = 0, old_rate = 0;
    PortId held_by = none; ///< the full port that keeps it from its limit
    bool reached = false;  ///< by a change
    bool open = false;     ///< reached, and doesn't have its rate yet
  };
  struct Port {
    std::vector<FlowId> flows;
    double carried = 0;      ///< rates of the flows that aren't reached
    int reached = 0;         ///< number of the other ones
    double wanted = 0;       ///< limits of the reached flows
    double granted = 0;      ///< rates of the reached flows, this round
    double fastest = 0;      ///< the highest of them
    double slowest_held = 0; ///< the lowest of those that it holds; infinity: none
    double left = 0;         ///< capacity not taken by flows that have their rate
    double share = 0;        ///< rest for each flow, this round
    int held = 0;            ///< flows that it keeps from their limits
    int open = 0;            ///< flows through it that don't have their rate yet
    bool seen = false;       ///< some flow through it was reached
    bool scarce = false;     ///< some of its flows can't have their limits
  };
  static constexpr PortId none = -1;

  [[nodiscard]] Flow& flow(FlowId id) { return _flows[static_cast<std::size_t>(id)]; }
  [[nodiscard]] Port& port(PortId id) { return _ports[static_cast<std::size_t>(id)]; }
  [[nodiscard]] double capacity(PortId id) const {
    return _capacities[static_cast<std::size_t>(id)];
  }
  void reach(FlowId id);
  /// Reaches the flows whose rates and those of the reached ones are unfair to each other.
  void reach_further();
  void reach_from(PortId id);
  /// Divides the capacity that the other flows leave among the reached ones.
  void fill();
  /// Computes what the unreached flows leave of the ports of the reached ones.
  void open_ports();
  void close_ports();
  /// Does one round: finds the lowest rate at which a flow stops, and stops all flows at that rate.
  void stop_slowest();
  /// Stops those of the flows that don't have their rate yet and meet a condition.
  template <class Condition>
  void stop_if(std::span<const FlowId> flows, Condition condition);
  void find_lowest_limit();
  /// Returns the port at which a flow stops; none: it continues.
  [[nodiscard]] PortId full_port(const Flow& flow, double threshold);
  void hold(Flow& flow, PortId id);

  std::span<const double> _capacities;
  std::vector<Flow> _flows;
  std::vector<Port> _ports;
  std::vector<FlowId> _reached; ///< since the last solve()
  std::vector<FlowId> _changed;
  std::vector<PortId> _seen;
  std::vector<PortId> _filling; ///< scarce ones with some open flow
  std::vector<FlowId> _stopped; ///< in this round
  std::size_t _open = 0;        ///< reached flows without a rate yet
  double _lowest_limit = 0;     ///< of these; infinity: none has one
};

} // namespace thalweg::simulator
