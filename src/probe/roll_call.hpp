#pragma once

#include "probe/channel.hpp"
#include "probe/identity.hpp"
#include "probe/options.hpp"

#include <vector>

namespace thalweg::probe {

/// All ranks but 0: tells rank 0 who we are.
void announce(const Channel& channel, const Identity& self);
/// Rank 0: who all ranks are.
/// @throws Failure naming those that don't announce themselves
std::vector<Identity> roll_call(const Channel& channel, const Identity& self,
                                const ProbeOptions& options);

} // namespace thalweg::probe
