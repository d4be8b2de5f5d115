#pragma once

#include "network/change.hpp"

#include <cstdint>
#include <span>
#include <string>

/// What of a network may change. Pure functions.
namespace thalweg::runtime {

using network::HostId;
using network::Network;
using network::Quantity;

/// What changed: all messages through it take another time, alike.
struct Cause {
  using What = network::Change::What;
  What what = What::pair;
  /// The hosts of a pair; a port's host is the first. Trunk and sites have numbers.
  std::int32_t from = 0, to = 0;
  double factor = 1;    ///< how many times as long they take, if it is bandwidth that changed
  double excess_ns = 0; ///< how much longer they take, if it is latency

  /// Returns the change of a network that has these hosts, trunks and sites.
  [[nodiscard]] network::Change on(const Network& network) const;
};

/// Returns the network after the change of a quantity by the causes (network::apply()).
Network changed(const Network& network, std::span<const Cause> causes, Quantity quantity);

/// Returns "trunk east-west", "the egress of a3", "from a3 to b0".
std::string to_text(const Network& network, const Cause& cause);

} // namespace thalweg::runtime
