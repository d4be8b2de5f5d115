#pragma once

#include "mapping/problem.hpp"

#include <span>
#include <vector>

namespace thalweg::mapping {

/// Returns the network between some of the hosts, numbered as they are listed: what costs of
/// placements depend on. Trunks and sites keep those of their hosts; those without any are left
/// out.
Network part(const Network& network, std::span<const HostId> hosts);

/// A problem without the hosts that have no slots, unless a rank ran there before: tables of them
/// would take most of the time where a network file has many more hosts than a program uses, and
/// most of a search's moves.
class UsableHosts {
public:
  explicit UsableHosts(Problem whole);
  UsableHosts(const UsableHosts&) = delete; // the problem refers to the network
  UsableHosts& operator=(const UsableHosts&) = delete;
  ~UsableHosts() = default;

  [[nodiscard]] const Problem& problem() const { return _problem; }
  /// Returns a placement of this problem by the hosts' numbers in the whole network.
  [[nodiscard]] Placement in_whole(const Placement& placement) const;

private:
  std::vector<HostId> _hosts;
  Network _network;
  Problem _problem;
};

} // namespace thalweg::mapping
