#pragma once

#include "network/network.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// How a change of one part of a network changes its numbers: the same for plans that follow the
/// network in a run, and for the network file that has what the run found.
namespace thalweg::network {

/// What of the messages through a part changed.
enum class Quantity : std::uint8_t { bandwidth, latency };
constexpr auto names_of(Quantity /*quantity*/) {
  return std::to_array<std::string_view>({"bandwidth", "latency"});
}

/// A change of one part of a network: all messages through it take another time, alike.
struct Change {
  enum class What : std::uint8_t { trunk, sites, egress, ingress, pair };
  What what = What::pair;
  /// The hosts on either side of the part, ascending. A port has its own host on one side, and all
  /// others on the other one.
  std::vector<HostId> from = {}, to = {};
  std::string trunk = {}; ///< the trunk's name, if the part is one
  double factor = 1;      ///< how many times as long messages take, if it is bandwidth that changed
  Time excess{};          ///< how much longer they take, if it is latency; negative: less

  /// Whether messages from a host to another one go through the part.
  [[nodiscard]] bool covers(HostId from_host, HostId to_host) const;
  /// Returns the first pair of hosts that it covers.
  [[nodiscard]] std::pair<HostId, HostId> first_pair() const;
};
constexpr auto names_of(Change::What /*what*/) {
  return std::to_array<std::string_view>({"trunk", "sites", "egress", "ingress", "pair"});
}

/// Changes a quantity of all pairs that the change covers: divides their bandwidth by the factor,
/// or adds the excess to their latency, of which at least a hundredth stays. With bandwidth the
/// capacity of the trunk, or of the port, is divided, too, and with that between two sites the
/// capacities of trunks between these alone. All hosts must be the network's. O(pairs that are
/// covered + trunks).
void apply(Network& network, const Change& change, Quantity quantity);

} // namespace thalweg::network
