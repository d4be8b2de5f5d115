#pragma once

#include "mapping/problem.hpp"
#include "mapping/site_tables.hpp"
#include "network/host_classes.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

namespace thalweg::mapping {

/// The exponents of the power mean of what ranks wait for, and of the norm of loads.
constexpr int wait_exponent = 2, load_exponent = 8;

/// The cost of a placement: seconds that a rank spends communicating if nothing overlaps. A sum to
/// compare placements by, not a prediction of the program's time.
struct Cost {
  /// What ranks wait for from other hosts, one message after the other: Σ messages × latency +
  /// bytes / bandwidth of what each receives in a phase (Traffic::phase), of these the power mean
  /// over the ranks with wait_exponent, and the sum of that over the phases. Directed. It lies
  /// between the mean rank's wait and the slowest one's in each phase: ranks wait for those that
  /// wait, but not all for the slowest.
  Time pairs{};
  /// How long the busiest ports and trunks carry the program's bytes: the norm over all ports and
  /// trunks of bytes / capacity, with load_exponent. It lies between the time of the busiest one
  /// and, with n of them, that times n^(1/8).
  Time load{};
  Time collectives{}; ///< of all calls that a rank takes part in, as collectives.hpp estimates them
  Time migration{};   ///< Problem::migration for each rank that moves, divided by the ranks
  [[nodiscard]] Time total() const { return pairs + load + collectives + migration; }
  bool operator==(const Cost&) const = default;
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("pairs", &Cost::pairs), Field("load", &Cost::load),
                      Field("collectives", &Cost::collectives),
                      Field("migration", &Cost::migration)};
  }
};

/// What the traffic of a placement is, by CloudMap's equations (Carreño et al., section V-D), read
/// as directed: sums over ordered pairs.
struct TrafficSums {
  double inter_host = 0;  ///< bytes between different hosts: equation 2
  double intra_host = 0;  ///< bytes inside hosts: equation 3
  double inter_site = 0;  ///< bytes between different sites; 0 if sites aren't known
  Time comm_time{};       ///< Σ bytes / bandwidth between different hosts: equation 4
  Time busiest{};         ///< of the port or trunk that takes longest for its bytes
  std::int32_t hosts = 0; ///< that ranks run on
  bool operator==(const TrafficSums&) const = default;
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("inter_host", &TrafficSums::inter_host),
                      Field("intra_host", &TrafficSums::intra_host),
                      Field("inter_site", &TrafficSums::inter_site),
                      Field("comm_time", &TrafficSums::comm_time),
                      Field("busiest", &TrafficSums::busiest),
                      Field("hosts", &TrafficSums::hosts)};
  }
};

/// What messages and bytes between hosts cost under a problem's metric.
class HostCosts {
public:
  /// Where the costs of pairs of hosts come from.
  enum class Pairs : std::uint8_t {
    in_table,  ///< O(hosts²) memory: for searches, which ask for each pair again and again
    on_demand, ///< from the network, which must outlive this: for single placements
  };
  explicit HostCosts(const Problem& problem, Pairs pairs = Pairs::in_table);

  struct Pair {
    double message = 0, byte = 0; ///< seconds of the receiver; 0 on one host
  };
  [[nodiscard]] Pair operator()(HostId from, HostId to) const {
    return _network == nullptr ? _pairs(from, to) : from_network(from, to);
  }
  /// Returns what a rank on one host and its peer on another wait for from each other, together.
  [[nodiscard]] double between(const Communication::Peer& peer, HostId here, HostId there) const {
    const Pair out = (*this)(here, there), back = (*this)(there, here);
    return peer.sent_messages * out.message + peer.sent_bytes * out.byte +
           peer.received_messages * back.message + peer.received_bytes * back.byte;
  }

  /// Ports and trunks, numbered: egress of each host, ingress of each host, trunks.
  [[nodiscard]] std::size_t resources() const { return _per_byte.size(); }
  /// Returns the seconds that a resource takes for a byte; 0 if it isn't limited.
  [[nodiscard]] double per_byte(std::size_t resource) const { return _per_byte[resource]; }
  /// Returns the tables for the problem's calls; null if it has none.
  [[nodiscard]] const std::shared_ptr<const SiteTables>& tables() const { return _tables; }
  /// Whether any resource is limited.
  [[nodiscard]] bool has_limits() const { return _has_limits; }
  /// Calls visit(resource) for each limited one that a flow between different hosts uses.
  template <class Visit>
  void for_each_resource(HostId from, HostId to, Visit visit) const {
    const auto see = [&](std::size_t resource) {
      if (_per_byte[resource] > 0) visit(resource);
    };
    const auto hosts = static_cast<std::size_t>(_hosts);
    see(static_cast<std::size_t>(from));
    see(hosts + static_cast<std::size_t>(to));
    for (const std::int32_t trunk : _trunks.between(from, to))
      see(2 * hosts + static_cast<std::size_t>(trunk));
  }

private:
  void fill_table();
  [[nodiscard]] Pair from_network(HostId from, HostId to) const;

  const Network* _network; ///< null once pairs are in the table
  HostId _hosts;
  Metric _metric;
  network::Matrix<Pair> _pairs;
  network::TrunkSets _trunks;
  std::vector<double> _per_byte;
  bool _has_limits = false;
  std::shared_ptr<const SiteTables> _tables;
};

/// Returns the cost of a placement, computed anew. O(pairs × trunks, calls × hosts), and where
/// there are calls what SiteTables takes. Memory O(hosts, pairs).
Cost cost(const Problem& problem, const Placement& placement);

/// Returns the traffic of a placement.
TrafficSums traffic(const Problem& problem, const Placement& placement);

} // namespace thalweg::mapping
