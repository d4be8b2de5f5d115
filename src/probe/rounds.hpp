#pragma once

#include "network/network.hpp"

#include <cstddef>
#include <span>
#include <vector>

/// Which hosts are measured at the same time.
namespace thalweg::probe {

using network::HostId;

/// Two hosts that are measured against each other.
struct Pair {
  HostId first = 0, second = 0;
  bool operator==(const Pair&) const = default;
};

using Round = std::vector<Pair>;

/// Returns rounds of disjoint pairs in which every pair of hosts meets exactly once: an edge
/// colouring of the complete graph by the circle method. `hosts` - 1 rounds of `hosts` / 2 pairs;
/// with an odd number of hosts, `hosts` rounds in each of which one host rests. Returns none for
/// fewer than two hosts. O(hosts²).
std::vector<Round> rounds(HostId hosts);

/// Returns how many rounds that are.
std::size_t count_of_rounds(HostId hosts);

/// Returns rounds of disjoint pairs in which these meet, each pair of hosts once, whichever comes
/// first. O(pairs · rounds).
std::vector<Round> rounds_of(std::span<const Pair> pairs);

/// Returns these rounds in parts of at most so many pairs, which are rounds, too.
std::vector<Round> split(std::span<const Round> rounds, std::size_t pairs);

/// Returns how many of `all` rounds of latency fit into `time`; at least one.
std::size_t affordable_rounds(std::size_t all, units::Time time);

} // namespace thalweg::probe
