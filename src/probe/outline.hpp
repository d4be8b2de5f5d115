#pragma once

#include "network/network.hpp"

#include <string>
#include <vector>

/// The order in which a network is measured, and how long that takes.
namespace thalweg::probe {

/// The share of the time budget at which each phase ends at the latest.
inline constexpr double latency_ends = 0.35, sample_ends = 0.45, trunks_end = 0.76,
                        capacities_end = 0.82, rest_ends = 0.88, repeats_end = 0.9,
                        uplinks_end = 0.97, disturbed_end = 1;

/// The least time for which a pair's latency is measured: delays that affect a few messages in a
/// row should have passed by then.
inline constexpr units::Time least_turn{50e-3};
/// Rounds of latency that ranks go through by themselves between two reports to rank 0.
inline constexpr std::size_t rounds_at_once = 8;
/// The most flows of an ordered pair of sites that are measured first.
inline constexpr std::size_t few_flows = 4;
/// Returns how many flows are measured first inside a site or between two: the more sites there
/// are, the fewer between them.
std::size_t sampled_flows(std::size_t sites, bool inside);
/// Flows that are measured again, alone.
inline constexpr std::size_t repeated_flows = 6;

/// Returns how long a probe should take if the user sets no budget and the network is known by
/// then: the MPI library's collectives get the rest. With the launch 10 s for 16 hosts, 20 s for
/// 128.
units::Time usual_time(network::HostId hosts);
/// The time for the MPI library's collectives if the network takes longer.
inline constexpr units::Time least_native_time{3};

/// A part of the measurement, as predicted.
struct Phase {
  std::string name;
  std::size_t measured = 0, of = 0; ///< pairs, flows, crowds or hosts: measured and existing
  std::size_t rounds = 0;
  std::size_t at_once = 0; ///< the most that are measured at the same time
  units::Time time{};
  bool operator==(const Phase&) const = default;
};

/// Returns what `thalweg probe` would do on such a network and how long it would take, without the
/// MPI library's own collectives, which take the rest of the budget. Sites are those of the
/// network; if it has none, all hosts form one. O(hosts² · steps).
/// @param budget phases that exceed it are cut short, as in a real probe
std::vector<Phase> outline(const network::Network& network, units::Time budget);

} // namespace thalweg::probe
