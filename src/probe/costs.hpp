#pragma once

#include "probe/coordinator.hpp"

namespace thalweg::probe {

/// Measures what the MPI library adds to a message, between ranks 0 and `peer`, without dilation.
/// Sends are timed into an idle connection and receives when the message has surely arrived, so
/// that neither contains the wire. The eager limit is the largest size whose send ends while the
/// receiver isn't in MPI at all; the handshake is the additional time of a message above it,
/// without a round trip and its own bytes.
/// @param latency of the pair on the wall clock, without the library's time
network::MessageCost measure_costs(Coordinator& coordinator, HostId peer, Nanoseconds latency);

/// One end of the timing of messages, as rank 0 orders it.
Words time_messages(const Channel& channel, const Words& order);
/// One end of messages that are answered at once by empty ones, as rank 0 orders it.
Words echo(const Channel& channel, const Words& order);
/// One end of the search for the eager limit, as rank 0 orders it.
Words find_eager_limit(const Channel& channel, const Words& order);

} // namespace thalweg::probe
