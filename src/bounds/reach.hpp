#pragma once

#include "algorithms/algorithm.hpp"

#include <limits>
#include <string>
#include <vector>

namespace thalweg::bounds {

using algorithms::Problem;
using network::HostId;

/// What all data takes from one host to others, or from them to one: seconds, by host.
using Distances = std::vector<double>;

/// The hosts in use, and what of the network and of the MPI library limits what passes between them
/// whatever the schedule: latencies at their lower, capacities at their upper confidence.
///
/// What the library's messages cost counts as it is sure to arise (src/simulator/engine.cpp): each
/// message between hosts takes its sender's CPU `send` before its first byte leaves, and its
/// receiver's CPU `receive` after its last one has come, so both lengthen each pair's latency. What
/// flows in and out of a host together is limited to `cpu`, so each direction is too. Whether large
/// messages wait for a handshake doesn't count: a schedule may cut them into small ones.
struct Reach {
  Reach(const Problem& problem, const network::MessageCost& cost);
  /// The same with all directions reversed: a reduction is a bcast whose time runs backwards.
  [[nodiscard]] Reach transposed() const;

  static constexpr double unlimited = std::numeric_limits<double>::infinity();
  /// Beyond so many hosts what takes time of more than about hosts² is left out.
  static constexpr HostId most_for_all_pairs = 128;

  /// What all flows from some hosts to others share.
  struct Trunk {
    std::string name;
    std::vector<HostId> from, to;
    double capacity;
  };

  [[nodiscard]] HostId size() const { return static_cast<HostId>(names.size()); }
  /// Whether there are few enough hosts to look at all pairs of them at leisure.
  [[nodiscard]] bool is_small() const { return size() <= most_for_all_pairs; }
  /// What a pair can carry. A pair's own rate was measured with one flow, which several flows may
  /// exceed, so it counts only where neither the ports at both ends nor a trunk are known; and
  /// there once for each pair of ranks, since each has a connection.
  [[nodiscard]] double pair(HostId from, HostId to) const {
    return pairs.size() == 0 ? unlimited : pairs(from, to);
  }
  /// Bytes per second out of a host: its port's, or if that isn't known those of all its pairs.
  [[nodiscard]] double rate_out(HostId host) const;
  [[nodiscard]] double rate_in(HostId host) const;
  /// Least sums of latencies along any path of hosts in use.
  [[nodiscard]] Distances distances_from(HostId host) const;
  [[nodiscard]] Distances distances_to(HostId host) const;

  /// "west0 -> east0", "egress of west0": for reasons, as they are without transposition.
  [[nodiscard]] std::string way(HostId from, HostId to) const;
  [[nodiscard]] std::string way(HostId from, const std::string& to) const;
  [[nodiscard]] std::string egress_of(const std::string& hosts) const;
  [[nodiscard]] std::string ingress_of(const std::string& hosts) const;

  bool is_transposed = false;
  std::vector<std::string> names;
  std::vector<double> egress, ingress;
  double cpu = unlimited;          ///< bytes per second in and out of each host together
  double send = 0, receive = 0;    ///< CPU time per message
  double combine_per_byte = 0;     ///< CPU time
  network::Matrix<double> latency; ///< of the pair itself, overheads included
  std::vector<double> nearest_out, nearest_in; ///< the least latency from, and to, each host
  std::vector<Trunk> trunks;                   ///< those between hosts in use
  std::vector<std::vector<HostId>> sites;
  std::vector<HostId> host_of_rank; ///< hosts are numbered by their lowest ranks
  std::vector<std::int64_t> ranks;  ///< by host: how many
  network::Matrix<double> pairs;    ///< empty: none limits
  network::Matrix<double> distance; ///< as distances_from(); empty if there are many hosts

private:
  Reach() = default;
  void add_hosts(const Problem& problem, std::vector<HostId>& local, std::vector<HostId>& used);
  void add_groups(const network::Network& network, const std::vector<HostId>& local);
  void add_pairs(const network::Network& network, const std::vector<HostId>& used);
  void find_distances();
};

} // namespace thalweg::bounds
