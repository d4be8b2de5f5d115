#pragma once

#include "probe/channel.hpp"

namespace thalweg::probe {

/// Carries out an order. The reply's first word is the rank of a peer that stayed silent, or -1.
Words carry_out(const Channel& channel, const Words& order);
/// Returns the silent peer of a reply, or -1.
int silent_peer(const Words& reply);
/// Carries out rank 0's orders until it says stop. All ranks but 0.
void serve(const Channel& channel);

} // namespace thalweg::probe
