#pragma once

#include "network/network.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What of a network may change. Pure functions.
namespace thalweg::runtime {

using network::HostId;
using network::Network;

/// What changed: all messages through it take another time, alike.
struct Cause {
  enum class What : std::uint8_t { trunk, sites, egress, ingress, pair };
  What what = What::pair;
  /// The hosts of a pair; a port's host is the first. Trunk and sites have numbers.
  std::int32_t from = 0, to = 0;
  double factor = 1;    ///< how many times as long they take, if it is bandwidth that changed
  double excess_ns = 0; ///< how much longer they take, if it is latency

  /// The hosts on either side of what changed, in ascending order.
  struct Ends {
    std::vector<HostId> from, to;
    /// Whether messages from a host to another one go through it.
    [[nodiscard]] bool cover(HostId from_host, HostId to_host) const;
    /// Whether all flows that share a trunk go through it.
    [[nodiscard]] bool include(const network::Trunk& trunk) const;
    /// Returns the first pair of hosts that it covers.
    [[nodiscard]] std::pair<HostId, HostId> first_pair() const;
  };
  [[nodiscard]] Ends ends(const Network& network) const;
};
constexpr auto names_of(Cause::What /*what*/) {
  return std::to_array<std::string_view>({"trunk", "sites", "egress", "ingress", "pair"});
}

enum class Quantity : std::uint8_t { bandwidth, latency };
constexpr auto names_of(Quantity /*quantity*/) {
  return std::to_array<std::string_view>({"bandwidth", "latency"});
}

/// Returns the network after the change of a quantity of all pairs that the causes cover. With the
/// bandwidth of a port or a trunk its capacity changes, too, and with that between two sites the
/// capacities of trunks between these alone.
Network changed(const Network& network, std::span<const Cause> causes, Quantity quantity);

/// Returns "trunk east-west", "the egress of a3", "from a3 to b0".
std::string to_text(const Network& network, const Cause& cause);

} // namespace thalweg::runtime
