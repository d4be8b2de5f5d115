#pragma once

#include "planner/table.hpp"
#include "runtime/adapt/races.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Races as text: what a run says of its own, and what it is told of earlier ones.
namespace thalweg::runtime {

/// Returns the fields of a JSON object that tell the sizes of calls: `size`, the least, and
/// `largest`.
std::string size_fields(const SizeRange& sizes);

/// Returns the races of a communicator with a verdict, each as a JSON object: docs/events-file.md
/// describes it.
/// @param table whose plans raced; null: none
/// @param ranks of the communicator, @param leader its first rank's number in COMM_WORLD
std::vector<std::string> reports(const Races& races, const planner::Table* table,
                                 collective::Rank ranks, int leader);

/// Returns how many races of a communicator are missing in the first `reported` ones of these, by
/// what each ended with.
ByCandidate<std::uint64_t> more_races(const Races& races, std::size_t reported);

/// Returns such numbers as a JSON object; empty if all are 0.
std::string as_json(const ByCandidate<std::uint64_t>& numbers);

/// Parses THALWEG_RACED: "allreduce:0:4096,bcast:3:65536:second" names collective, root and size
/// of the races that native or, where that is said, the second plan won before. Parts that are
/// wrong are left out.
std::vector<Won> parse_raced(std::string_view text);

} // namespace thalweg::runtime
