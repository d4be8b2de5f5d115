#pragma once

#include "algorithms/algorithm.hpp"
#include "algorithms/used_hosts.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace thalweg::bounds {

using algorithms::Problem;
using algorithms::UsedHosts;
using network::HostId;

/// Returns a measurement's relative error, or 0 if none was measured; infinite: the value isn't
/// known.
double error_of(const network::HostPairs<float>& errors, HostId from, HostId to);

/// Least time for anything to get from one host to others, or from others to it: seconds, by host.
using Distances = std::vector<double>;

/// The hosts in use, and what limits data between them whatever the schedule: latencies at the
/// lower end of their confidence, capacities at the upper end.
///
/// The library's message costs count where they are sure to arise (src/simulator/engine.cpp): each
/// message between hosts occupies its sender's CPU for `send` before its first byte leaves, and its
/// receiver's CPU for `receive` after its last one has come, so both lengthen each pair's latency.
/// Data in and out of a rank together is limited to `cpu`, so each direction is too. Each rank of a
/// host may have a core of its own, although the simulator lets a host serve one message at a time.
/// The handshake of large messages doesn't count, since a schedule may cut them into small ones.
struct Reach {
  Reach(const Problem& problem, const network::MessageCost& cost);
  /// Returns the network with all directions reversed: a reduction is a bcast whose time runs
  /// backwards.
  [[nodiscard]] Reach transposed() const;

  static constexpr double unlimited = std::numeric_limits<double>::infinity();
  /// With more hosts, computations that take much longer than hosts² are left out.
  static constexpr HostId most_for_all_pairs = 128;

  /// A capacity shared by all flows from some hosts to others.
  struct Trunk {
    std::string name;
    std::vector<HostId> from, to;
    double capacity;
  };

  [[nodiscard]] HostId size() const { return static_cast<HostId>(names.size()); }
  /// Returns the most cores that the ranks of a host can use.
  [[nodiscard]] double cores(HostId host) const {
    return static_cast<double>(ranks[static_cast<std::size_t>(host)]);
  }
  /// Whether there are few enough hosts to compute on all pairs.
  [[nodiscard]] bool is_small() const { return size() <= most_for_all_pairs; }
  /// Returns the capacity of a pair in bytes per second, or unlimited where one of its ports is no
  /// faster. A connection carries no more than a single flow's rate, whatever else it passes, and
  /// each pair of ranks has one (src/simulator/ports.cpp): so the rate counts once for each pair.
  [[nodiscard]] double pair(HostId from, HostId to) const {
    return pairs.size() == 0 ? unlimited : pairs(from, to);
  }
  /// Returns the most bytes per second from one host to another: through the pair and both ports.
  [[nodiscard]] double between(HostId from, HostId to) const {
    return std::min({pair(from, to), egress[static_cast<std::size_t>(from)],
                     ingress[static_cast<std::size_t>(to)]});
  }
  /// Returns bytes per second out of a host: its port's rate or the sum over its pairs, whichever
  /// is lower.
  [[nodiscard]] double rate_out(HostId host) const;
  [[nodiscard]] double rate_in(HostId host) const;
  /// Returns the least sums of latencies along any path through hosts in use.
  [[nodiscard]] Distances distances_from(HostId host) const;
  [[nodiscard]] Distances distances_to(HostId host) const;

  /// Returns the bytes of the blocks of each host's ranks, one block per rank.
  [[nodiscard]] std::vector<double> block_bytes(const collective::Collective& collective) const;

  /// Names a path for reasons, as without transposition: "west0 -> east0", "egress of west0".
  [[nodiscard]] std::string path(HostId from, HostId to) const;
  [[nodiscard]] std::string path(HostId from, const std::string& to) const;
  [[nodiscard]] std::string path(const std::string& from, const std::string& to) const;
  [[nodiscard]] std::string egress_of(const std::string& hosts) const;
  [[nodiscard]] std::string ingress_of(const std::string& hosts) const;

  bool is_transposed = false;
  std::vector<std::string> names;
  std::vector<double> egress, ingress;
  double cpu = unlimited;          ///< bytes per second in and out of each rank together
  double send = 0, receive = 0;    ///< CPU time per message
  double combine_per_byte = 0;     ///< CPU seconds
  network::Matrix<double> latency; ///< of the pair itself, overheads included
  std::vector<double> nearest_out, nearest_in; ///< the least latency from, and to, each host
  std::vector<Trunk> trunks;                   ///< those between hosts in use
  std::vector<std::vector<HostId>> sites;
  std::vector<HostId> host_of_rank; ///< hosts are numbered by their lowest ranks
  std::vector<std::int64_t> ranks;  ///< number, by host
  network::Matrix<double> pairs;    ///< empty: none limits
  network::Matrix<double> distance; ///< as distances_from(); empty if there are many hosts

private:
  Reach() = default;
  void add_hosts(const Problem& problem, const UsedHosts& used);
  /// @param number of each host of the network, or no_host
  void add_groups(const network::Network& network, const std::vector<HostId>& number);
  void add_latencies(const network::Network& network, const std::vector<HostId>& used);
  void add_pairs(const network::Network& network, const std::vector<HostId>& used);
  void find_distances();
};

} // namespace thalweg::bounds
