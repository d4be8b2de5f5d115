#pragma once

#include "probe/evidence.hpp"

namespace thalweg::probe {

/// Finds all hosts whose flows share what some flows fill: flows that share it take from theirs,
/// flows that don't share it take nothing. Hosts of a site are tested together, and so are sites
/// until some of them differ, so that a trunk takes about 2 log(sites) crowds for each of its
/// ends.
/// @param filled flows that fill a capacity, and their rates while they did
/// @param opposite the same link in the other direction, if that is known: its hosts are tested
/// first
FilledTrunk find_members(Evidence& evidence, const Observation& filled, const Sites& sites,
                         const Latencies& latencies, const FilledTrunk* opposite = nullptr);

} // namespace thalweg::probe
