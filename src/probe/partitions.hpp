#pragma once

#include "probe/evidence.hpp"

namespace thalweg::probe {

/// Returns passages from some sites to all others that would explain what has been observed: at
/// least twice, flows between different hosts got the same rate together, the most that was ever
/// seen, though more was expected. Only sites that latency, or nothing but their own link, sets
/// apart are considered. They are suppositions: other links may explain the same. O(sites² ·
/// flows) for each.
std::vector<Passage> supposed_passages(const Evidence& evidence, const Sites& sites,
                                       const Latencies& latencies);

/// Returns one flow of each host at the end with fewer hosts, to or from hosts of all sites at the
/// other end.
std::vector<Arrow> flows_through(const Passage& passage, const Sites& sites,
                                 std::size_t shift);

} // namespace thalweg::probe
