#pragma once

#include "simulator/ports.hpp"

#include <span>
#include <vector>

namespace thalweg::simulator {

/// Max-min fair rates by progressive filling: all flows grow alike, each until its own limit or
/// until a port that it goes through is full. O(rounds × (flows × ports per flow)), at most one
/// round for each different rate.
class MaxMin {
public:
  struct Flow {
    double limit;                  ///< bytes per second; may be infinite
    std::span<const PortId> ports; ///< a port named twice carries the flow twice
    double rate;                   ///< the result
  };
  explicit MaxMin(std::span<const double> capacities);
  void solve(std::span<Flow> flows);

private:
  struct Load {
    double left = 0;     ///< capacity not taken by flows that have their rate
    double wanted = 0;   ///< the sum of the limits of all flows
    double share = 0;    ///< what is left for each flow, this round
    int flows = 0;       ///< that don't have their rate yet
    bool scarce = false; ///< not all its flows can have their limits
  };
  [[nodiscard]] Load& at(PortId port) { return _loads[static_cast<std::size_t>(port)]; }
  /// Counts what goes through which port; flows through no scarce one have their rate at once.
  void load(std::span<Flow> flows);

  std::span<const double> _capacities;
  std::vector<Load> _loads;
  std::vector<PortId> _used;      ///< that are scarce
  std::vector<std::size_t> _open; ///< indices of the flows that don't have their rate yet
};

} // namespace thalweg::simulator
