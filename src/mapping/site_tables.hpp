#pragma once

#include "mapping/problem.hpp"
#include "network/matrix.hpp"

#include <memory>
#include <vector>

namespace thalweg::mapping {

/// What the estimate of collectives reads of a network, for all placements of a problem. Hosts
/// without slots don't count among a host's neighbours. Time O(hosts × usable hosts of their site).
struct SiteTables {
  explicit SiteTables(const Problem& problem);

  std::vector<std::int32_t> site_of;     ///< by host
  std::vector<double> latency;           ///< by host: seconds, mean within its site
  std::vector<double> out_rate, in_rate; ///< by host: bytes per second
  double message_cost = 0;               ///< seconds that a message takes its ends
  network::Matrix<double> between;       ///< sites: seconds of latency
  network::Matrix<double> rate;          ///< between sites: of one flow, or the trunk's
  network::Matrix<char> has_trunk;       ///< between sites

private:
  void describe_hosts(const Problem& problem);
  void describe_sites(const Problem& problem);
};

/// Returns the tables by which a problem's calls are estimated; null if it has no calls.
std::shared_ptr<const SiteTables> tables_for(const Problem& problem);

} // namespace thalweg::mapping
