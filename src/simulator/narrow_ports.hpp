#pragma once

#include "simulator/ports.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace thalweg::simulator {

/// The ports that flows may have to share, by connection. The others have room for all that can
/// flow through them at the same time, so that they never change a rate: those whose connections
/// are slower together, and a CPU that keeps up with its host's egress and ingress.
class NarrowPorts {
public:
  /// O(ports of all connections).
  explicit NarrowPorts(const Ports& ports);
  [[nodiscard]] std::span<const PortId> of(ConnectionId connection) const {
    const auto at = static_cast<std::size_t>(connection);
    return std::span(_route).subspan(_begin[at], _begin[at + 1] - _begin[at]);
  }

private:
  std::vector<PortId> _route;
  std::vector<std::size_t> _begin; ///< by connection, and the end
};

} // namespace thalweg::simulator
