#pragma once

#include "probe/coordinator.hpp"
#include "probe/latencies.hpp"
#include "probe/ping_pong.hpp"
#include "probe/rounds.hpp"

namespace thalweg::probe {

/// Measures latency in rounds of disjoint pairs, by adaptive ping-pongs until the interval of each
/// direction (of the round trip, if clocks are not shared) is tight or the round's share of the
/// budget is spent. If time doesn't allow all rounds, it runs a random choice of them and leaves
/// out pairs that never met. Measures a few pairs again, alone, to see whether rounds disturb each
/// other. Without a shared clock also finds the offsets of the clocks.
/// @param shared_clock whether ranks seem to share one; a message that arrives before it was sent
/// refutes it
/// @param share of the time budget by which this phase should end
Latencies measure_latency(Coordinator& coordinator, bool shared_clock, double share);

/// The same for some rounds only.
Latencies measure_latency(Coordinator& coordinator, bool shared_clock, std::vector<Round> all,
                          double share);

/// Finds the offsets of the clocks alone, host after host.
void align_clocks(Coordinator& coordinator);

} // namespace thalweg::probe
