#pragma once

#include "mapping/problem.hpp"
#include "mapping/site_tables.hpp"

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace thalweg::mapping {

struct Move;

/// What leaves a group of ranks and what enters it: bytes, or bytes per second.
struct Crossing {
  double out = 0, in = 0;
};

/// The time that a rank spends in a program's collective calls on a placement, on average over all
/// ranks, also those that don't take part; estimated fast enough for a search.
///
/// A call takes the latency of the best tree over the sites that its ranks use and, inside them,
/// over the hosts, twice for a barrier; and the bytes of the busiest host or site: what must leave
/// or enter it, over the capacity of its port or trunk in that direction, twice for an allreduce.
/// The bytes are lower bounds of any algorithm. Scans take ceil(log2) of each. Ranks of one host
/// take no time. Hosts without slots don't count (site_tables.hpp).
class Collectives {
public:
  Collectives(const Problem& problem, const Placement& placement);
  /// @param tables those of the problem's network and slots; null only if there are no calls
  Collectives(const Problem& problem, const Placement& placement,
              std::shared_ptr<const SiteTables> tables);

  /// Returns the seconds of all calls, for a rank.
  [[nodiscard]] double total() const { return _total; }
  /// Returns by how much that would change. O(roots and hosts of the moved ranks' communicators,
  /// for each kind and size of their calls).
  /// @param placement before the moves
  [[nodiscard]] double change(std::span<const Move> moves, const Placement& placement);
  void apply(std::span<const Move> moves, const Placement& placement);
  /// Returns how many hosts and roots change() looks at.
  [[nodiscard]] std::size_t effort(std::span<const Move> moves) const;

private:
  /// Ranks on a host.
  struct Share {
    HostId host = 0;
    Rank count = 0;
    bool operator==(const Share&) const = default;
  };
  /// Ranks at a site.
  struct SiteShare {
    std::int32_t site = 0;
    double hosts = 0, ranks = 0;
    double latency = 0; ///< seconds between its hosts, mean
    Crossing rate = {}; ///< bytes per second to and from the best reached of the other sites
  };
  /// Seconds of latency that a call takes: of the best tree, and of ranks that combine in order.
  struct Latencies {
    double tree = 0, order = 0;
  };
  /// Calls of one kind and size by the same ranks.
  struct Calls {
    collective::Kind kind{};
    Size size = 0;
    double count = 0;
    std::vector<std::pair<Rank, double>> roots; ///< with how often each is; none: without a root
  };
  /// Calls by the same ranks.
  struct Communicator {
    std::vector<Rank> members;
    std::vector<Calls> calls;
    std::vector<Rank> roots;   ///< of all calls, ascending
    std::vector<Share> shares; ///< by host, ascending
    double seconds = 0;
  };

  /// Whether the moves leave as many ranks on each host, and each root where it is.
  [[nodiscard]] static bool stays(const Communicator& communicator, std::span<const Share> shares,
                                  std::span<const Move> moves);
  /// Returns the communicator's hosts after the moves.
  [[nodiscard]] std::vector<Share> moved(const Communicator& communicator,
                                         std::span<const Move> moves,
                                         const Placement& placement) const;
  [[nodiscard]] double seconds(const Communicator& communicator, std::span<const Share> shares,
                               std::span<const Move> moves, const Placement& placement) const;
  /// Returns the sites of the hosts, ascending.
  [[nodiscard]] std::vector<SiteShare> sites_of(std::span<const Share> shares) const;
  [[nodiscard]] Latencies latencies_of(std::span<const SiteShare> sites) const;
  /// Returns the seconds that the busiest hosts or sites take for the bytes of all the calls.
  /// @param host_of returns the host of a root
  template <class HostOf>
  [[nodiscard]] double slowest(const Calls& calls, double ranks, std::span<const Share> shares,
                               std::span<const SiteShare> sites, const HostOf& host_of) const;
  [[nodiscard]] std::vector<std::size_t> concerned(std::span<const Move> moves) const;
  /// Returns the mean latency between the hosts of one site.
  [[nodiscard]] double latency_inside(std::span<const Share> shares) const;

  const Problem* _problem;
  std::vector<Communicator> _communicators;
  std::vector<std::vector<std::size_t>> _of_rank; ///< communicators, ascending
  std::shared_ptr<const SiteTables> _tables;
  double _total = 0;
};

} // namespace thalweg::mapping
