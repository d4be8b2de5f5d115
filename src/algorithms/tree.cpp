#include "algorithms/tree.hpp"

#include "algorithms/order.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::How;

std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }

/// When the data moves along each link, and how a parent combines what its child sends.
struct Timing {
  explicit Timing(const Skeleton& skeleton);

  std::vector<Step> sent;    ///< rank -> step of the bcast at which its parent sends to it
  std::vector<Step> arrived; ///< rank -> step from which it can pass the data on
  std::vector<How> how;      ///< rank -> what its parent does with its part in the reduction
  Step depth = 0;            ///< all ranks have the data
};

Timing::Timing(const Skeleton& skeleton)
    : sent(skeleton.order.size()), arrived(sent), how(skeleton.order.size(), How::copy) {
  const std::vector<Rank>& parents = skeleton.parents.front();
  std::vector<Step> next(sent), last_arrival(sent);
  std::vector<Rank> lowest(skeleton.order.size()); // of those combined so far
  for (const Rank rank : skeleton.order) {
    lowest[index(rank)] = rank;
    const Rank parent = parents[index(rank)];
    if (parent == no_rank) continue;
    const Step delay = skeleton.delays.empty() ? 0 : skeleton.delays[index(rank)];
    sent[index(rank)] = next[index(parent)]++;
    // Later than its elder sibling's: read backwards, these are the steps of the reduction.
    arrived[index(rank)] = std::max(sent[index(rank)] + delay, last_arrival[index(parent)]) + 1;
    last_arrival[index(parent)] = next[index(rank)] = arrived[index(rank)];
    depth = std::max(depth, arrived[index(rank)]);
  }
  for (std::size_t at = skeleton.order.size(); at-- > 1;) {
    const Rank rank = skeleton.order[at];
    Rank& present = lowest[index(parents[index(rank)])];
    how[index(rank)] = lowest[index(rank)] < present ? How::combine_left : How::combine_right;
    present = std::min(present, lowest[index(rank)]);
  }
}

/// For each rank, the steps that pass while a message crosses the link from or to its parent beyond
/// the one that it takes anyway. A reduction that shares the links with a bcast needs it: there
/// both are ordered against each other, and a rank would otherwise wait for what is still under
/// way.
std::vector<Step> link_delays(const Problem& problem, const Skeleton& skeleton) {
  const schedule::Pipeline pipeline = skeleton.pipeline(problem.collective.size);
  const double bytes =
      static_cast<double>(problem.collective.size) / static_cast<double>(pipeline.segments);
  const Network& network = problem.network;
  const std::vector<Rank>& parents = skeleton.parents.front();
  const auto host = [&](Rank rank) { return problem.placement[index(rank)]; };

  // What a segment takes at the busiest link or port.
  std::vector<double> links(network.hosts.size());
  double segment_time = 0;
  for (Rank rank = 0; rank < skeleton.ranks; ++rank) {
    if (parents[index(rank)] == no_rank) continue;
    const network::HostId a = host(rank), b = host(parents[index(rank)]);
    if (a == b) continue;
    segment_time = std::max({segment_time, bytes / network.bandwidth(a, b).value(),
                             bytes / network.bandwidth(b, a).value()});
    for (const network::HostId end : {a, b}) {
      const network::Host& port = network.hosts[index(end)];
      links[index(end)] += bytes;
      segment_time = std::max({segment_time, links[index(end)] / port.egress.value(),
                               links[index(end)] / port.ingress.value()});
    }
  }
  const double step_time = segment_time / static_cast<double>(skeleton.period);
  // In a pipeline of fewer segments than that nothing waits.
  const double most = static_cast<double>(pipeline.segments) * skeleton.period;
  std::vector<Step> delays(parents.size());
  for (Rank rank = 0; rank < skeleton.ranks; ++rank) {
    if (parents[index(rank)] == no_rank) continue;
    const network::HostId a = host(rank), b = host(parents[index(rank)]);
    const double latency = std::max(network.latency(a, b), network.latency(b, a)).value();
    if (latency > 0)
      delays[index(rank)] = latency >= most * step_time
                                ? static_cast<Step>(std::min(most, 1e6))
                                : static_cast<Step>(latency / step_time + 0.5);
  }
  return delays;
}

} // namespace

void join_binomially(std::span<const Rank> group, std::vector<Rank>& order,
                     std::vector<Rank>& parents) {
  for (std::size_t half = std::bit_ceil(group.size()) / 2; half > 0; half /= 2)
    for (std::size_t node = 0; node + half < group.size(); node += 2 * half) {
      parents[index(group[node + half])] = group[node];
      order.push_back(group[node + half]);
    }
}

void TreeAlgorithm::emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const {
  const Timing timing(skeleton);
  const std::vector<Rank>& parents = skeleton.parents.front();
  const schedule::Range all{0, skeleton.chunks, 1};
  const Step bcast_begin = kind == Kind::bcast ? 0 : timing.depth;
  for (const Rank child : skeleton.order) {
    const Rank parent = parents[index(child)];
    if (parent == no_rank || (rank != no_rank && rank != child && rank != parent)) continue;
    if (kind != Kind::bcast)
      sink.add(child, parent, timing.depth - timing.arrived[index(child)], timing.how[index(child)],
               all);
    if (kind != Kind::reduce)
      sink.add(parent, child, bcast_begin + timing.sent[index(child)], How::copy, all);
  }
  sink.sort();
}

Skeleton TreeAlgorithm::tree(const Problem& problem, const Parameters& parameters,
                             std::vector<Rank> order, std::vector<Rank> parents,
                             Step period) const {
  Skeleton skeleton;
  skeleton.algorithm = name();
  skeleton.ranks = problem.collective.ranks;
  skeleton.root = problem.collective.root;
  skeleton.segment_size = parameters.segment_size;
  skeleton.period = period;
  skeleton.order = std::move(order);
  skeleton.parents = {std::move(parents)};
  if (problem.collective.kind == Kind::allreduce &&
      skeleton.pipeline(problem.collective.size).segments > 1)
    skeleton.delays = link_delays(problem, skeleton);
  return skeleton;
}

Step TreeAlgorithm::most_children(const std::vector<Rank>& parents) {
  std::vector<Step> children(parents.size());
  for (const Rank parent : parents)
    if (parent != no_rank) ++children[index(parent)];
  return std::max(1, *std::ranges::max_element(children));
}

Rank TreeAlgorithm::natural_root(const Problem& problem) {
  return collective::is_rooted(problem.collective.kind) ? problem.collective.root
                                                        : central_rank(problem);
}

} // namespace thalweg::algorithms
