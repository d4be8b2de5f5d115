#pragma once

#include "probe/channel.hpp"
#include "probe/identity.hpp"
#include "probe/options.hpp"

#include <vector>

namespace thalweg::probe {

/// All ranks but 0: tells rank 0 this rank's identity.
void announce(const Channel& channel, const Identity& self);
/// Rank 0: returns the identities of all ranks.
/// @throws Failure naming the ranks that don't announce themselves
std::vector<Identity> roll_call(const Channel& channel, const Identity& self,
                                const ProbeOptions& options);

} // namespace thalweg::probe
