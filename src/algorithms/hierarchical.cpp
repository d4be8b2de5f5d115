/// The tree of a network performance hierarchy: within each group, from the top level down to the
/// ranks of a host, the leaders of the groups below form a binomial tree under the group's leader.
/// A leader is who reaches the others best, in the direction in which the data goes; the root leads
/// all its groups. Source: Gong, He, Zhong: Network Performance Aware MPI Collective Communication
/// Operations in the Cloud, section 4.3, algorithm 3. Its `iter < l` would leave out the top level:
/// read as `iter <= l`.
#include "algorithms/segments.hpp"
#include "algorithms/tree.hpp"
#include "network/hierarchy.hpp"

#include <algorithm>
#include <tuple>

namespace thalweg::algorithms {
namespace {

std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }

/// Who leads the groups of a hierarchy.
class Leaders {
public:
  explicit Leaders(const Problem& problem, Rank root)
      : _problem(problem), _root(root), _size(std::max<Size>(1, problem.collective.size)),
        _levels(network::performance(problem.network, _size, network::HierarchyOptions{}.base)) {}

  /// Moves the leader of a group of ranks to its front; the others stay in ascending order.
  void put_first(std::vector<Rank>& group) const {
    const auto found = std::ranges::find(group, _root);
    const auto leader = found != group.end() ? found : best(group);
    std::rotate(group.begin(), leader, leader + 1);
  }

private:
  /// By the discretised matrix; ties by transfer times, then by rank.
  [[nodiscard]] std::vector<Rank>::iterator best(std::vector<Rank>& group) const {
    const auto cost = [&](Rank leader) {
      std::int64_t levels = 0;
      double times = 0;
      for (const Rank other : group) {
        const network::HostId a = host(leader), b = host(other);
        if (a == b) continue;
        if (flows_down(_problem.collective.kind)) {
          levels += _levels(a, b);
          times += _problem.network.transfer_time(a, b, _size).value();
        }
        if (flows_up(_problem.collective.kind)) {
          levels += _levels(b, a);
          times += _problem.network.transfer_time(b, a, _size).value();
        }
      }
      return std::tuple(levels, times, leader);
    };
    return std::ranges::min_element(group, {}, cost);
  }
  [[nodiscard]] network::HostId host(Rank rank) const { return _problem.placement[index(rank)]; }

  const Problem& _problem;
  Rank _root;
  Size _size;
  network::Levels _levels;
};

/// The part of a problem's network that has ranks, which are placed on it anew.
struct UsedPart {
  explicit UsedPart(const Problem& problem) : placement(problem.placement) {
    std::vector<network::HostId> hosts = problem.placement;
    std::ranges::sort(hosts);
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    const auto find = [&](network::HostId host) { return std::ranges::lower_bound(hosts, host); };
    for (network::HostId& host : placement)
      host = static_cast<network::HostId>(find(host) - hosts.begin());
    const network::Network& whole = problem.network;
    const std::size_t count = hosts.size();
    network.hosts.resize(count);
    network.latency = network::Matrix<units::Time>(count);
    network.bandwidth = network::Matrix<units::Rate>(count);
    for (network::HostId from = 0; from < network.size(); ++from)
      for (network::HostId to = 0; to < network.size(); ++to) {
        const auto [a, b] = std::pair(hosts[index(from)], hosts[index(to)]);
        network.latency(from, to) = whole.latency(a, b);
        network.bandwidth(from, to) = whole.bandwidth(a, b);
      }
    for (const network::DeclaredGroup& group : whole.groups) {
      network::DeclaredGroup own{group.name, {}};
      for (const network::HostId host : group.hosts)
        if (const auto at = find(host); at != hosts.end() && *at == host)
          own.hosts.push_back(static_cast<network::HostId>(at - hosts.begin()));
      if (!own.hosts.empty()) network.groups.push_back(std::move(own));
    }
  }
  network::Network network;
  Placement placement;
};

/// The groups of participants of all levels, the top one first, each with its leader in front.
std::vector<std::vector<Rank>> led_groups(const Problem& whole, Rank root) {
  const UsedPart used(whole);
  const Problem problem{whole.collective, used.network, used.placement};
  const network::Hierarchy hierarchy(problem.network,
                                     {.size = std::max<Size>(1, problem.collective.size)});
  const Leaders leaders(problem, root);
  std::vector<std::vector<Rank>> result;
  std::vector<Rank> participants(problem.placement.size());
  for (Rank rank = 0; rank < problem.collective.ranks; ++rank)
    participants[index(rank)] = rank;
  for (std::size_t level = 0; level < hierarchy.levels().size(); ++level) {
    std::vector<std::vector<Rank>> groups(hierarchy.levels()[level].groups.size());
    for (const Rank rank : participants)
      groups[hierarchy.group_of(level, problem.placement[index(rank)])].push_back(rank);
    participants.clear();
    for (auto& group : groups) {
      if (group.empty()) continue;
      leaders.put_first(group);
      participants.push_back(group.front());
      result.push_back(std::move(group));
    }
    std::ranges::sort(participants);
  }
  std::ranges::reverse(result);
  return result;
}

class Hierarchical final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "hierarchical"; }
  [[nodiscard]] std::string_view source() const override {
    return "Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in "
           "the Cloud, section 4.3, algorithm 3";
  }

  /// O(hosts²) logarithms.
  [[nodiscard]] bool builds_quickly(Rank ranks) const override { return ranks <= 256; }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const std::vector<std::vector<Rank>> groups = led_groups(problem, natural_root(problem));
    std::vector<Rank> order = {groups.front().front()};
    std::vector<Rank> parents(problem.placement.size(), collective::no_rank);
    for (const std::vector<Rank>& group : groups)
      join_binomially(group, order, parents);
    const Step period = most_children(parents);
    Skeleton skeleton = tree(problem, parameters, std::move(order), std::move(parents), period);
    skeleton.window = one_at_a_time(parameters); // the paper calls MPICH2's, whose sends block
    return skeleton;
  }
};

} // namespace

const Algorithm& hierarchical() {
  static const Hierarchical algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
