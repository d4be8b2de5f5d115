#include "mapping/problem.hpp"

#include "units/index.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace thalweg::mapping {
namespace {

std::string name_of_host(const Problem& problem, HostId host) {
  return "host " + problem.network.hosts[index(host)].name;
}

void check_host(const Problem& problem, HostId host, Rank rank) {
  if (host < 0 || host >= problem.network.size())
    throw std::invalid_argument("rank " + std::to_string(rank) + " is placed on host number " +
                                std::to_string(host) + ", but the network has " +
                                std::to_string(problem.network.size()) + " hosts");
}

void check_size(const Problem& problem, std::size_t size, const char* what) {
  if (size != 0 && size != index(problem.ranks()))
    throw std::invalid_argument(std::string(what) + " of " + std::to_string(size) +
                                " ranks doesn't fit a matrix of " +
                                std::to_string(problem.ranks()) + " ranks");
}

void check_call(const Problem& problem, const Call& call) {
  const Rank ranks = problem.ranks();
  for (const Rank member : call.members)
    if (member < 0 || member >= ranks)
      throw std::invalid_argument("a call of rank " + std::to_string(member) + ": there are " +
                                  std::to_string(ranks) + " ranks");
  if (!(call.count >= 0) || !std::isfinite(call.count))
    throw std::invalid_argument("a collective that is called " + std::to_string(call.count) +
                                " times: must be a number of at least 0");
  collective::validate(
      {.kind = call.kind,
       .ranks = call.members.empty() ? ranks : static_cast<Rank>(call.members.size()),
       .root = call.root,
       .size = call.size});
}

void check_order(const Problem& problem) {
  if (problem.order.empty()) return;
  std::vector<bool> listed(problem.slots.size());
  for (const HostId host : problem.order) {
    if (host < 0 || host >= problem.network.size())
      throw std::invalid_argument("the order of hosts has number " + std::to_string(host) +
                                  ", but the network has " +
                                  std::to_string(problem.network.size()) + " hosts");
    if (listed[index(host)])
      throw std::invalid_argument(name_of_host(problem, host) + " is in the order of hosts twice");
    listed[index(host)] = true;
  }
  for (HostId host = 0; host < problem.network.size(); ++host)
    if (problem.slots[index(host)] > 0 && !listed[index(host)])
      throw std::invalid_argument(name_of_host(problem, host) +
                                  " has slots, but isn't in the order of hosts");
}

/// Counts the ranks on each host, and checks that they fit.
void check_counts(const Problem& problem, const std::vector<HostId>& hosts, const char* verb) {
  std::vector<std::int32_t> count(problem.slots.size());
  for (const HostId host : hosts)
    if (host != no_host && ++count[index(host)] > problem.slots[index(host)])
      throw std::invalid_argument(name_of_host(problem, host) + " has " +
                                  std::to_string(problem.slots[index(host)]) +
                                  " slots, but more ranks are " + verb);
}

} // namespace

std::vector<HostId> Problem::in_order() const {
  std::vector<HostId> hosts = order;
  if (hosts.empty()) {
    hosts.resize(slots.size());
    std::iota(hosts.begin(), hosts.end(), 0);
  }
  std::erase_if(hosts, [this](HostId host) { return slots[index(host)] == 0; });
  return hosts;
}

void validate(const Problem& problem) {
  if (problem.slots.size() != problem.network.hosts.size())
    throw std::invalid_argument("slots of " + std::to_string(problem.slots.size()) +
                                " hosts: the network has " +
                                std::to_string(problem.network.size()));
  std::int64_t all = 0;
  for (HostId host = 0; host < problem.network.size(); ++host) {
    const std::int32_t slots = problem.slots[index(host)];
    if (slots < 0)
      throw std::invalid_argument(name_of_host(problem, host) + " can't have " +
                                  std::to_string(slots) + " slots: 0 or more");
    all += slots;
  }
  if (all < problem.ranks())
    throw std::invalid_argument("the hosts have " + std::to_string(all) + " slots for " +
                                std::to_string(problem.ranks()) +
                                " ranks: name more hosts, or more slots");
  check_order(problem);
  check_size(problem, problem.pinned.size(), "a list of pinned ranks");
  check_size(problem, problem.previous.size(), "an earlier placement");
  for (Rank rank = 0; rank < static_cast<Rank>(problem.pinned.size()); ++rank)
    if (problem.pinned_to(rank) != no_host) check_host(problem, problem.pinned_to(rank), rank);
  check_counts(problem, problem.pinned, "pinned to it");
  for (Rank rank = 0; rank < static_cast<Rank>(problem.previous.size()); ++rank)
    check_host(problem, problem.previous[index(rank)], rank);
  if (!(problem.migration >= Time(0)) || !std::isfinite(problem.migration.value()))
    throw std::invalid_argument("moving a rank can't cost " +
                                std::to_string(problem.migration.value()) +
                                " seconds: must be a time of at least 0");
  for (const Call& call : problem.calls)
    check_call(problem, call);
}

void check(const Problem& problem, const Placement& placement) {
  if (placement.size() != index(problem.ranks()))
    throw std::invalid_argument("a placement of " + std::to_string(placement.size()) +
                                " ranks doesn't fit a matrix of " +
                                std::to_string(problem.ranks()) + " ranks");
  for (Rank rank = 0; rank < problem.ranks(); ++rank) {
    check_host(problem, placement[index(rank)], rank);
    const HostId pinned = problem.pinned_to(rank);
    if (pinned != no_host && placement[index(rank)] != pinned)
      throw std::invalid_argument("rank " + std::to_string(rank) + " is pinned to " +
                                  name_of_host(problem, pinned) + ", but placed elsewhere");
  }
  check_counts(problem, placement, "placed on it");
}

} // namespace thalweg::mapping
