#pragma once

#include "algorithms/algorithm.hpp"

#include <string>

/// Proven lower limits of the time of a collective on a network. Formulas without a proof are not
/// here.
namespace thalweg::bounds {

using algorithms::Problem;
using units::Time;

/// A proven lower limit of last exit − first entry or, for bcast and scatter, last exit − the
/// root's entry: nothing that counts happens before. Times that are measured from the last entry
/// compare with it where all ranks enter together.
struct Bound {
  Time time{};
  std::string reason; ///< the cut or path that sets it, for people: "trunk east->west: 8MB / 1Gbps"
  static constexpr auto fields() {
    return std::tuple{units::Field("time", &Bound::time), units::Field("reason", &Bound::reason)};
  }
};

/// Returns the best bound found. On the hosts in use it counts what limits any schedule: latencies
/// at their lower confidence, and the capacities of ports and trunks, each for the time in which
/// data that counts can pass it. A single flow's bandwidth limits each connection, of which a pair
/// of hosts has one for each pair of its ranks. The problem's message cost gives the CPU time of
/// messages, bytes and combining. Entry times don't count, since entering later never ends a
/// collective earlier. Cost: a few maximum flows per host, O(hosts²) each in practice, and
/// O(hosts³). Beyond 128 hosts the only cuts through several ports, pairs and trunks are the ones
/// that sites, trunks and slow pairs suggest, and the cost is O(hosts²). Beyond 8,192 hosts, whose
/// matrices would take gigabytes, the bound is 0, without a reason.
Bound bound(const Problem& problem);

/// Returns the bound on this network with its transport: that of bound(), or a larger one that
/// TCP's slow start sets (Network::initial_window). It holds for MPI libraries with one connection
/// for each pair of ranks, none of which has been used before, into each host and each set of hosts
/// that sites and trunks suggest. Handshakes of large messages don't count, since a schedule may
/// cut them into small ones. O(hosts²) for each set.
Bound bound_with_slow_start(const Problem& problem);

} // namespace thalweg::bounds
