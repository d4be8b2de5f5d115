#pragma once

#include "planner/table.hpp"
#include "runtime/choose/settings.hpp"

/// How all ranks get the plan file that rank 0 has, and find their hosts in its network.
namespace thalweg::runtime {

struct Runtime;

/// Returns the plan whose content the settings have, empty if they have none; if it is wrong, that
/// becomes their problem. Local.
planner::PlanFile open_plan(Settings& settings);

/// Finds the host names of all ranks, unless they are known. Ranks whose hosts in the plan's
/// network are known have the names that these have there, and nobody is asked. Collective, except
/// for a single rank.
void name_hosts(Runtime& it);

/// Fills plan, hosts and force from the settings, which all ranks share. Collective.
///
/// A rank that finds rank 0's plan file on its own machine takes it from there. If a rank doesn't,
/// rank 0 broadcasts it. If all ranks are on the hosts of the first table that has as many, nobody
/// asks for host names. A host that isn't in the plan's network is network::no_host; then all host
/// names are known.
/// @throws std::invalid_argument on all ranks, if everything must be native
void read_plan(Runtime& it);

} // namespace thalweg::runtime
