#pragma once

#include "planner/table.hpp"
#include "runtime/choose/settings.hpp"

/// How all ranks get the plan file that rank 0 has, and find their hosts in its network.
namespace thalweg::runtime {

struct Agreement;
struct AgreementRecord;
struct Runtime;

/// Reads this rank's plan before anything is known of the others': rank 0's has the content that
/// its settings have, and if that is wrong, it becomes their problem; other ranks take the file
/// that their own THALWEG_PLAN names, if it is on their machine. Returns the plan's seal, empty if
/// there is none. Local.
std::string open_plan(Runtime& it, Settings& settings);

/// Adds to what a rank tells the others which plan it has opened, and whether it is where that has
/// it. Local. @param seal as open_plan() returns it
void tell_plan(const Runtime& it, const std::string& seal, AgreementRecord& record);

/// Finds the host names of all ranks, unless they are known. Ranks whose hosts in the plan's
/// network are known have the names that these have there, and nobody is asked. Collective, except
/// for a single rank.
void name_hosts(Runtime& it);

/// Fills plan, hosts and force from the settings, which all ranks share. Collective; no message is
/// sent if all ranks have opened the same plan and are in place.
///
/// If a rank hasn't opened rank 0's plan, rank 0 broadcasts it. If all ranks are on the hosts of
/// the first table that has as many, nobody asks for host names. A host that isn't in the plan's
/// network is network::no_host; then all host names are known.
/// @throws std::invalid_argument on all ranks, if everything must be native
void read_plan(Runtime& it, const Agreement& agreement);

} // namespace thalweg::runtime
