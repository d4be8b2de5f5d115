#pragma once

#include "mapping/communication.hpp"
#include "network/network.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace thalweg::mapping {

using network::HostId;
using network::Network;
using network::no_host;
using network::Placement;
using units::Size;
using units::Time;

/// What of a message costs time.
enum class Metric : std::uint8_t {
  both,      ///< each message that is waited for its latency (streams.hpp), each byte its share of
             ///< the bandwidth, and loads
  latency,   ///< latencies only: CloudMap's version for many small messages
  bandwidth, ///< bytes and loads only: CloudMap's version for large ones
};
constexpr auto names_of(Metric /*metric*/) {
  return std::to_array<std::string_view>({"both", "latency", "bandwidth"});
}

/// Equal calls of a collective by the same ranks.
struct Call {
  collective::Kind kind{};
  Size size = 0;             ///< as Collective::size
  double count = 1;          ///< how often
  Rank root = 0;             ///< position in `members`; 0 where there is none
  std::vector<Rank> members; ///< in the communicator's order; empty: all ranks
};

/// All that a mapping depends on.
struct Problem {
  const Network& network;
  Communication communication;
  std::vector<std::int32_t> slots; ///< by host: how many ranks may run there
  std::vector<Call> calls = {};
  Metric metric = Metric::both;
  std::vector<HostId> pinned = {}; ///< by rank: its host, or no_host; empty: none is pinned
  Placement previous = {};         ///< where ranks ran before; empty: nowhere
  Time migration{};                ///< cost of each rank that isn't where it ran before
  std::vector<HostId> order = {};  ///< in which launchers fill hosts; empty: the network's
  double group_size = 1; ///< processes that a rank stands for, which wait for messages side by side

  [[nodiscard]] Rank ranks() const { return communication.ranks(); }
  [[nodiscard]] HostId pinned_to(Rank rank) const {
    return pinned.empty() ? no_host : pinned[static_cast<std::size_t>(rank)];
  }
  /// Returns all hosts that have slots, in the order in which launchers fill them.
  [[nodiscard]] std::vector<HostId> in_order() const;
};

/// Checks that slots are given for each host and suffice, and all else that concerns ranks and
/// hosts; not the network.
/// @throws std::invalid_argument naming what is at fault
void validate(const Problem& problem);

/// Checks that a placement gives each rank a slot, and pinned ranks theirs.
/// @throws std::invalid_argument naming the rank or host at fault
void check(const Problem& problem, const Placement& placement);

} // namespace thalweg::mapping
