#pragma once

#include "network/matrix.hpp"

#include <cstdint>
#include <vector>

namespace thalweg::bounds {

using MemberId = network::HostId; ///< a host, or a class of hosts

/// The hosts or classes of hosts that a trunk carries data from, and those that it carries it to.
struct Carrier {
  std::vector<MemberId> from, to;
  double capacity; ///< bytes per second
};

/// A node for a trunk in a graph of what flows between hosts or classes of hosts.
struct Hub {
  std::int32_t trunk;
  std::vector<char> sends,
      receives; ///< by member: whether the trunk carries its data, or data to it
};

/// The trunk that counts for the data of each pair of hosts or classes of hosts. Where several
/// carry a pair's data only one counts: the preferred one, else the one with the least capacity.
class Crossings {
public:
  static constexpr std::int32_t no_trunk = -1;

  /// Cost: the pairs of all trunks, and members². @param preferred or no_trunk
  Crossings(const std::vector<Carrier>& trunks, MemberId members, std::int32_t preferred);

  /// Returns the trunk that counts for the data from one member to another, or no_trunk.
  [[nodiscard]] std::int32_t trunk(MemberId from, MemberId to) const { return _trunk(from, to); }
  /// Returns one hub for each trunk that counts for a pair: preferred and narrow trunks first.
  /// @param separate whether members whose data a trunk carries to different members get a hub
  /// each. Then no data uses a trunk between members whose data it doesn't carry, but the trunk's
  /// capacity counts several times.
  [[nodiscard]] std::vector<Hub> hubs(bool separate) const;

private:
  const std::vector<Carrier>& _trunks;
  std::vector<std::int32_t> _order; ///< of trunks: the first that carries a pair's data counts
  network::Matrix<std::int32_t> _trunk;
};

} // namespace thalweg::bounds
