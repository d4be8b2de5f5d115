/// The fastest tree for a short message among equal ranks: every rank that has the message sends it
/// on, to one rank after the other, so that N(t) = N(t - o) + N(t - o - l) ranks have it at a time
/// t, where a message keeps its sender busy for o and arrives l later. Both come from the network:
/// the cost of messages, and the median of its links.
/// Source: Bar-Noy, Kipnis: Designing Broadcasting Algorithms in the Postal Model for
/// Message-Passing Systems; Karp, Sahay, Santos, Schauser: Optimal Broadcast and Summation in the
/// LogP Model.
#include "algorithms/order.hpp"
#include "algorithms/trees/tree.hpp"
#include "network/host_classes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;
using network::HostId;

/// Seconds of a message.
struct Costs {
  /// How long its sender is busy; above 0, or one sender would serve all.
  double busy = 1e-6;
  double latency = 0; ///< from when the sender is free again until the receiver can send
};

Costs costs_of(const Problem& problem) {
  const Network& network = problem.network;
  const std::vector<HostId> used = network::used_hosts(problem.placement);
  Costs costs;
  if (used.size() < 2) return costs;
  const auto bytes = static_cast<double>(problem.collective.size);
  const auto latencies = network::values_between<units::Time>(network.latency, used, used);
  std::vector<network::Counted<units::Time>> times;
  for (const auto& [rate, pairs] :
       network::values_between<units::Rate>(network.bandwidth, used, used))
    times.push_back({units::Time(bytes / rate.value()), pairs});
  costs.busy = std::max(costs.busy, problem.cost.send.value()) + network::median(times).value();
  costs.latency = problem.cost.receive.value() + network::median(latencies).value();
  return costs;
}

class PostalTree final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "postal-tree"; }
  [[nodiscard]] std::string_view source() const override {
    return "Bar-Noy, Kipnis: Designing Broadcasting Algorithms in the Postal Model for "
           "Message-Passing Systems";
  }
  /// O(ranks log ranks), and O(hosts²) for the medians.
  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const Costs costs = costs_of(problem);
    const std::vector<Rank> joining =
        make_order(problem, parameters, natural_root(problem), Shape::chain);
    using Free = std::pair<double, std::size_t>; // free from; number in `joining`
    std::priority_queue<Free, std::vector<Free>, std::greater<>> senders;
    std::vector<Rank> parents(joining.size(), no_rank);
    senders.emplace(0, 0);
    for (std::size_t next = 1; next < joining.size(); ++next) {
      const auto [time, sender] = senders.top();
      senders.pop();
      parents[index(joining[next])] = joining[sender];
      senders.emplace(time + costs.busy, sender);
      senders.emplace(time + costs.busy + costs.latency, next);
    }
    return tree(problem, parameters, joining, std::move(parents));
  }
};

} // namespace

const Algorithm& postal_tree() {
  static const PostalTree algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
