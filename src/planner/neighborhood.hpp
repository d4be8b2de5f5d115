#pragma once

#include "network/network.hpp"
#include "schedule/schedule.hpp"

#include <array>
#include <span>
#include <string>
#include <vector>

/// Plans for collectives of neighbourhoods: the order and the number at a time in which the
/// messages along the edges of a communicator's graph are sent. Every message goes straight to its
/// receiver, so that nothing but their order is to be decided.
namespace thalweg::planner {

using collective::Rank;
using network::Network;
using network::Placement;
using schedule::Step;
using units::Size;
using units::Time;

/// A message from a rank to a neighbour.
struct Edge {
  Rank from = 0, to = 0;
  Size size = 0;
};

/// A rule that gives each message a step.
enum class Pacing : std::uint8_t {
  native,    ///< all messages at once, as MPI libraries send them
  far_first, ///< all at once, posted by descending latency
  by_rank,   ///< in a step each rank sends one message at most, and receives one
  by_host,   ///< in a step each host sends one message at most to other hosts, and receives one
};
constexpr auto names_of(Pacing /*pacing*/) {
  return std::to_array<std::string_view>({"native", "far-first", "by-rank", "by-host"});
}

/// A rule, and how many messages a rank sends, and receives, at a time; 0: all.
struct Pace {
  Pacing pacing = Pacing::native;
  int window = 0;
};
/// The paces that are tried, the one of the MPI libraries first.
inline constexpr std::array<Pace, 7> paces{{{Pacing::native, 0},
                                            {Pacing::far_first, 0},
                                            {Pacing::by_rank, 1},
                                            {Pacing::by_rank, 2},
                                            {Pacing::by_rank, 4},
                                            {Pacing::by_host, 1},
                                            {Pacing::by_host, 4}}};

/// The most edges for which a plan is made.
inline constexpr std::size_t most_edges = 4096;

/// Returns the step of each edge. Deterministic, and without rounding, so that all ranks find the
/// same. O(edges * degree).
std::vector<Step> steps_of(std::span<const Edge> edges, const Network& network,
                           const Placement& placement, Pacing pacing);

/// The best of the paces by simulation.
struct NeighborhoodChoice {
  std::size_t pace = 0; ///< index in `paces`
  Time native = {}, time = {};
};

/// Returns roughly the nanoseconds that plan_neighborhood() takes.
constexpr std::int64_t planning_ns(std::int64_t edges) {
  return edges * 20'000 + edges * edges * 150;
}

/// Returns the pace that is predicted to be fastest, or native if none is predicted to take 5 %
/// less. Simulates all of them: O(edges²) each.
/// @param library a key of Network::message_costs
/// @throws std::invalid_argument if an edge has an end that the placement doesn't know, or less
/// than 0 bytes
NeighborhoodChoice plan_neighborhood(std::span<const Edge> edges, const Network& network,
                                     const Placement& placement, const std::string& library);

} // namespace thalweg::planner
