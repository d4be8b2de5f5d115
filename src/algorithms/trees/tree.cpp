#include "algorithms/trees/tree.hpp"

#include "algorithms/order.hpp"
#include "algorithms/ranges.hpp"
#include "algorithms/segments.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::How;
using schedule::Range;

/// When the data moves along each link, and how a parent combines what its child sends.
struct Timing {
  explicit Timing(const Skeleton& skeleton);

  std::vector<Step> sent;    ///< rank -> step of the bcast at which its parent sends to it
  std::vector<Step> arrived; ///< rank -> step from which it can pass the data on
  std::vector<How> how;      ///< rank -> what its parent does with its part of a reduction
  Step depth = 0;            ///< all ranks have the data
};

Timing::Timing(const Skeleton& skeleton)
    : sent(skeleton.order.size()), arrived(sent), how(skeleton.order.size(), How::copy) {
  const std::vector<Rank>& parents = skeleton.parents.front();
  std::vector<Step> next(sent), last_arrival(sent);
  std::vector<Rank> lowest(skeleton.order.size()); // of the contributions combined so far
  for (const Rank rank : skeleton.order) {
    lowest[index(rank)] = rank;
    const Rank parent = parents[index(rank)];
    if (parent == no_rank) continue;
    const Step delay = skeleton.delays.empty() ? 0 : skeleton.delays[index(rank)];
    sent[index(rank)] = next[index(parent)]++;
    // Arrivals at siblings ascend: read backwards, these are the steps of the reduction.
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

/// The subtree below each rank.
class Subtrees {
public:
  explicit Subtrees(const Skeleton& skeleton);
  /// Returns the number of ranks below `rank`, itself included.
  [[nodiscard]] Rank size(Rank rank) const { return _sizes[index(rank)]; }
  /// Returns the blocks of these ranks.
  [[nodiscard]] std::vector<Range> blocks(Rank rank) const {
    const auto begin = _preorder.begin() + _begins[index(rank)];
    std::vector<ChunkId> members(begin, begin + size(rank));
    std::ranges::sort(members);
    return to_ranges(members);
  }
  /// Returns all other blocks.
  [[nodiscard]] std::vector<Range> other_blocks(Rank rank) const {
    const auto begin = _preorder.begin() + _begins[index(rank)];
    std::vector<char> below(_preorder.size(), 0);
    std::for_each(begin, begin + size(rank), [&](Rank member) { below[index(member)] = 1; });
    std::vector<ChunkId> others;
    others.reserve(_preorder.size());
    for (Rank other = 0; other < static_cast<Rank>(below.size()); ++other)
      if (below[index(other)] == 0) others.push_back(other);
    return to_ranges(others);
  }

private:
  std::vector<Rank> _sizes, _begins, _preorder; ///< a subtree is contiguous in the preorder
};

Subtrees::Subtrees(const Skeleton& skeleton)
    : _sizes(skeleton.order.size(), 1), _begins(skeleton.order.size()),
      _preorder(skeleton.order.size()) {
  const std::vector<Rank>& parents = skeleton.parents.front();
  for (std::size_t at = skeleton.order.size(); at-- > 1;) {
    const Rank rank = skeleton.order[at];
    _sizes[index(parents[index(rank)])] += size(rank);
  }
  std::vector<Rank> next(_sizes.size()); // where the next child's subtree begins
  for (const Rank rank : skeleton.order) {
    const Rank parent = parents[index(rank)];
    Rank& begin = _begins[index(rank)];
    if (parent != no_rank) {
      begin = next[index(parent)];
      next[index(parent)] += size(rank);
    }
    next[index(rank)] = begin + 1;
    _preorder[index(begin)] = rank;
  }
}

/// Returns the order in which ranks join if each node serves its largest subtrees first.
std::vector<Rank> largest_first(const Skeleton& skeleton) {
  const Subtrees subtrees(skeleton);
  std::vector<std::vector<Rank>> children(skeleton.order.size());
  for (const Rank rank : skeleton.order)
    if (const Rank parent = skeleton.parents.front()[index(rank)]; parent != no_rank)
      children[index(parent)].push_back(rank);
  std::vector<Rank> order = {skeleton.order.front()};
  for (std::size_t at = 0; at < order.size(); ++at) {
    std::vector<Rank>& served = children[index(order[at])];
    std::ranges::stable_sort(served, std::greater{},
                             [&](Rank rank) { return subtrees.size(rank); });
    order.insert(order.end(), served.begin(), served.end());
  }
  return order;
}

/// Returns a segment's seconds at the busiest link or port, if data goes up and down.
double segment_time(const Problem& problem, const Skeleton& skeleton) {
  const double bytes = static_cast<double>(problem.collective.size) /
                       static_cast<double>(skeleton.pipeline(problem.collective.size).segments);
  const Network& network = problem.network;
  const Kind kind = problem.collective.kind;
  const Subtrees subtrees(skeleton);
  std::vector<double> sent(network.hosts.size()), received(network.hosts.size());
  double time = 0;
  const auto flow = [&](network::HostId from, network::HostId to, double amount) {
    sent[index(from)] += amount;
    received[index(to)] += amount;
    time = std::max({time, amount / network.bandwidth(from, to).value(),
                     sent[index(from)] / network.hosts[index(from)].egress.value(),
                     received[index(to)] / network.hosts[index(to)].ingress.value()});
  };
  for (Rank rank = 0; rank < skeleton.ranks; ++rank) {
    const Rank parent = skeleton.parents.front()[index(rank)];
    if (parent == no_rank) continue;
    const network::HostId a = problem.placement[index(rank)], b = problem.placement[index(parent)];
    if (a == b) continue;
    const auto below = static_cast<double>(subtrees.size(rank)),
               all = static_cast<double>(skeleton.chunks);
    flow(a, b, bytes * (kind == Kind::allgather ? below : all));
    flow(b, a, bytes * (kind == Kind::reduce_scatter ? below : all - (all > 1 ? below : 0)));
  }
  return time;
}

/// Returns the links between the root and the rank that is farthest from it.
Rank longest_path(const Skeleton& skeleton) {
  std::vector<Rank> links(skeleton.order.size());
  for (const Rank rank : skeleton.order)
    if (const Rank parent = skeleton.parents.front()[index(rank)]; parent != no_rank)
      links[index(rank)] = links[index(parent)] + 1;
  return *std::ranges::max_element(links);
}

/// Returns, for each rank, the steps by which a message on the link from or to its parent takes
/// longer than the one step of its own. Collectives whose data goes up and down the same links need
/// this: both directions are ordered against each other, and a rank would otherwise wait for data
/// that is still in flight.
std::vector<Step> link_delays(const Problem& problem, const Skeleton& skeleton) {
  const Network& network = problem.network;
  const std::vector<Rank>& parents = skeleton.parents.front();
  const double step_time = segment_time(problem, skeleton) / static_cast<double>(skeleton.period);
  // A pipeline with fewer segments than that doesn't wait. Data goes along the longest path twice.
  const double most = std::min(
      {static_cast<double>(longest_delay),
       static_cast<double>(skeleton.pipeline(problem.collective.size).segments) * skeleton.period,
       schedule::last_step / 4. / std::max(1, longest_path(skeleton))});
  std::vector<Step> delays(parents.size());
  for (Rank rank = 0; rank < skeleton.ranks; ++rank) {
    if (parents[index(rank)] == no_rank) continue;
    const network::HostId a = problem.placement[index(rank)],
                          b = problem.placement[index(parents[index(rank)])];
    const double latency = std::max(network.latency(a, b), network.latency(b, a)).value();
    if (latency > 0)
      delays[index(rank)] = static_cast<Step>(std::min(most, latency / step_time + 0.5));
  }
  return delays;
}

} // namespace

Step most_children(const std::vector<Rank>& parents) {
  std::vector<Step> children(parents.size());
  for (const Rank parent : parents)
    if (parent != no_rank) ++children[index(parent)];
  return std::max(1, *std::ranges::max_element(children));
}

void join_knomially(std::span<const Rank> group, std::int32_t degree, std::vector<Rank>& order,
                    std::vector<Rank>& parents) {
  const auto k = static_cast<std::size_t>(std::max(2, degree));
  std::size_t distance = 1;
  while (distance * k < group.size())
    distance *= k;
  for (; distance > 0; distance /= k)
    for (std::size_t node = 0; node < group.size(); node += k * distance)
      for (std::size_t child = node + distance; child < std::min(group.size(), node + k * distance);
           child += distance) {
        parents[index(group[child])] = group[node];
        order.push_back(group[child]);
      }
}

void join_binomially(std::span<const Rank> group, std::vector<Rank>& order,
                     std::vector<Rank>& parents) {
  join_knomially(group, 2, order, parents);
}

void join_evenly(std::span<const Rank> group, std::int32_t degree, std::vector<Rank>& order,
                 std::vector<Rank>& parents) {
  std::vector<std::span<const Rank>> subtrees = {group}; // used as a queue
  for (std::size_t at = 0; at < subtrees.size(); ++at) {
    const std::span<const Rank> below = subtrees[at].subspan(1);
    const std::size_t children = std::min(index(std::max(1, degree)), below.size());
    for (std::size_t i = 0; i < children; ++i) {
      const std::size_t begin = below.size() * i / children,
                        end = below.size() * (i + 1) / children;
      parents[index(below[begin])] = subtrees[at].front();
      order.push_back(below[begin]);
      subtrees.push_back(below.subspan(begin, end - begin));
    }
  }
}

void TreeAlgorithm::check(const Skeleton& skeleton) const {
  check_lists(skeleton, {"order", "parents", "delays"});
  check_joining_tree(skeleton);
}

void TreeAlgorithm::emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const {
  const Timing timing(skeleton);
  const Subtrees subtrees(skeleton);
  const std::vector<Rank>& parents = skeleton.parents.front();
  const std::vector<Range> all = {{0, skeleton.chunks, 1}};
  const Step down_begin = flows_up(kind) ? timing.depth : 0;
  for (const Rank child : skeleton.order) {
    const Rank parent = parents[index(child)];
    if (parent == no_rank || (rank != no_rank && rank != child && rank != parent)) continue;
    if (flows_up(kind))
      sink.add(child, parent, timing.depth - timing.arrived[index(child)],
               collective::is_reduction(kind) ? timing.how[index(child)] : How::copy,
               collective::is_reduction(kind) ? all : subtrees.blocks(child));
    if (!flows_down(kind)) continue;
    const bool scatters = kind == Kind::scatter || kind == Kind::reduce_scatter;
    sink.add(parent, child, down_begin + timing.sent[index(child)], How::copy,
             scatters                  ? subtrees.blocks(child)
             : kind == Kind::allgather ? subtrees.other_blocks(child)
                                       : all);
  }
  sink.sort();
}

std::vector<Parameters> TreeAlgorithm::segments(const Problem& problem) {
  const Kind kind = problem.collective.kind;
  if (problem.collective.blocks() == 1) return segmented(problem);
  if (collective::root_has_blocks(kind))
    return first_of(segmented(problem, 1, problem.collective.blocks()), 2);
  return {{}};
}

Skeleton TreeAlgorithm::tree(const Problem& problem, const Parameters& parameters,
                             std::vector<Rank> order, std::vector<Rank> parents,
                             Step period) const {
  Skeleton skeleton = begin(problem, parameters);
  skeleton.period = period > 0 ? period : most_children(parents);
  skeleton.order = std::move(order);
  skeleton.parents = {std::move(parents)};
  if (skeleton.chunks > 1) skeleton.order = largest_first(skeleton);
  const Kind kind = problem.collective.kind;
  if (flows_up(kind) && flows_down(kind) && skeleton.pipeline(problem.collective.size).segments > 1)
    skeleton.delays = link_delays(problem, skeleton);
  return skeleton;
}

Skeleton TreeAlgorithm::joined_tree(const Problem& problem, const Parameters& parameters,
                                    const Join& join) const {
  const std::vector<Rank> at =
      make_order(problem, parameters, natural_root(problem, parameters), Shape::chain);
  std::vector<Rank> joined = {at.front()};
  std::vector<Rank> parents(at.size(), no_rank);
  join(at, joined, parents);
  return tree(problem, parameters, std::move(joined), std::move(parents));
}

Rank TreeAlgorithm::natural_root(const Problem& problem, const Parameters& parameters) {
  const bool given =
      collective::is_rooted(problem.collective.kind) || parameters.order == Order::rank;
  return given ? problem.collective.root : central_rank(problem);
}

} // namespace thalweg::algorithms
