#pragma once

#include "probe/evidence.hpp"

namespace thalweg::probe {

/// Divides flows that got less than predicted by what holds them back: halves that together get no
/// more than each by itself don't share it. All parts that don't share anything are halved at the
/// same time, so that it takes about 2 log(flows) crowds.
/// @return for each part its flows and their rates when they filled what they share
std::vector<Observation> isolate(Evidence& evidence, const std::vector<Flow>& suspects,
                                 const SiteOf& site);

/// Finds flows that hold back others although these alone are not held back, by leaving out as many
/// as possible. Takes about 2 log(pairs of sites) crowds.
/// @param held flows between two sites
/// @param others ran at the same time; those between two sites are taken together
/// @return both, and their rates; no flows if the others don't explain it
Observation find_accomplices(Evidence& evidence, const std::vector<Flow>& held,
                             const std::vector<Flow>& others, const SiteOf& site);

} // namespace thalweg::probe
