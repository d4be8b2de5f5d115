#include "algorithms/used_hosts.hpp"

#include "units/index.hpp"

#include <utility>

namespace thalweg::algorithms {

UsedHosts::UsedHosts(const Network& network, const Placement& placement)
    : number(network.hosts.size(), network::no_host) {
  for (Rank rank = 0; std::cmp_less(rank, placement.size()); ++rank) {
    const network::HostId host = placement[index(rank)];
    if (number[index(host)] == network::no_host) {
      number[index(host)] = size();
      hosts.push_back(host);
      ranks.emplace_back();
    }
    ranks[index(number[index(host)])].push_back(rank);
  }
}

} // namespace thalweg::algorithms
