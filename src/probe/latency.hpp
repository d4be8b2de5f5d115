#pragma once

#include "probe/coordinator.hpp"
#include "probe/ping_pong.hpp"

namespace thalweg::probe {

/// Latencies as seen by the probe: in nanoseconds on the wall clock, the library's time to send and
/// to receive included.
struct Latencies {
  Matrix<Estimate> one_way; ///< half of the round trip unless all ranks share a clock; 0 and an
                            ///< infinite error: not measured
  Matrix<double> library;   ///< what of it is the library's time to send and to receive a ping
  bool shared_clock = false;
  std::size_t repeated = 0; ///< pairs that were measured again, alone
  double disturbance = 0;   ///< by how much their round trips then differed, relatively: the median
  [[nodiscard]] Nanoseconds round_trip(HostId a, HostId b) const {
    return static_cast<Nanoseconds>(one_way(a, b).value + one_way(b, a).value);
  }
};

/// Latency in rounds of disjoint pairs: adaptive ping-pongs until the interval of each direction
/// (of the round trip, if clocks are not shared) is tight or the round's share of the budget is
/// spent. If time doesn't allow all rounds, a random choice of them; pairs that never met are left
/// out. A few pairs are measured again, alone, to see whether rounds disturb each other. Without a
/// shared clock also finds the offsets of the clocks.
/// @param shared_clock whether ranks seem to share one; a message that arrives before it was sent
/// refutes it
/// @param share of the time budget when this phase should have ended
Latencies measure_latency(Coordinator& coordinator, bool shared_clock, double share);

/// Finds the offsets of the clocks alone, host after host.
void align_clocks(Coordinator& coordinator);

} // namespace thalweg::probe
