/// Gather and scatter without relays: the root exchanges one message with each rank, in an order in
/// which its port never idles. Each site gets messages at the rate that its path carries, so that
/// all trunks are busy from beginning to end, and earlier the longer the last hop takes, so that
/// far and slow ranks don't come last. Long blocks are cut into segments, each a round over all
/// ranks, so that a slow flow doesn't hold up the others; or, for a scatter, into parts that follow
/// each other, sent one at a time, so that the first ranks have their whole blocks early.
/// Source: the linear algorithms of MPI libraries, in the order of Jackson's rule (Scheduling a
/// Production Line to Minimize Maximum Tardiness): the message with the longest remaining path
/// first.
#include "algorithms/quick.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/site_graph.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <stdexcept>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using network::HostId;
using Site = SiteGraph::Site;

/// The most parts of a block.
constexpr std::int32_t most_parts = 64;

/// Finds the order in which the root serves the ranks.
class Pace {
public:
  explicit Pace(const Problem& problem)
      : _problem(problem),
        _graph(site_graph(problem, problem.collective.kind == Kind::scatter ? DataFlow::spread
                                                                            : DataFlow::collect)),
        _host_of(index(problem.collective.ranks)) {
    for (HostId host = 0; host < _graph.size(); ++host)
      for (const Rank rank : _graph.ranks[index(host)])
        _host_of[index(rank)] = host;
  }

  [[nodiscard]] std::vector<Rank> order() const {
    const Rank root = _problem.collective.root;
    std::vector<Rank> order;
    std::vector<double> start(_host_of.size(), 0), next(_graph.sites.size(), 0);
    for (Rank rank = 0; rank < _problem.collective.ranks; ++rank)
      if (rank != root) order.push_back(rank);
    // Sorts within each site first, then over all sites.
    std::ranges::stable_sort(order, std::greater<>(), [&](Rank rank) { return tail(rank); });
    for (const Rank rank : order) {
      double& time = next[index(_graph.site_of[index(host(rank))])];
      start[index(rank)] = time - tail(rank);
      time += bytes(rank) / site_rate(_graph.site_of[index(host(rank))]);
    }
    std::ranges::stable_sort(order, {}, [&](Rank rank) { return start[index(rank)]; });
    order.insert(order.begin(), root);
    return order;
  }

private:
  [[nodiscard]] HostId host(Rank rank) const { return _host_of[index(rank)]; }
  [[nodiscard]] HostId root_host() const { return host(_problem.collective.root); }
  [[nodiscard]] double bytes(Rank rank) const {
    return static_cast<double>(_problem.collective.block_size(rank));
  }
  /// Returns the largest rate from the root to a site.
  [[nodiscard]] double site_rate(Site site) const {
    double rate = _graph.egress[index(root_host())];
    const Site own = _graph.site_of[index(root_host())];
    for (const SiteGraph::Trunk& trunk : _graph.trunks)
      if (trunk.from[index(own)] && trunk.to[index(site)]) rate = std::min(rate, trunk.capacity);
    return _graph.size() == 1 ? 1 : rate;
  }
  /// Returns the seconds from when the root's port has handled a message until it arrives.
  [[nodiscard]] double tail(Rank rank) const {
    if (host(rank) == root_host()) return 0;
    const double rate =
        std::min(_graph.bandwidth(root_host(), host(rank)), _graph.ingress[index(host(rank))]);
    return _graph.latency(root_host(), host(rank)) + bytes(rank) / rate -
           bytes(rank) / _graph.egress[index(root_host())];
  }

  const Problem& _problem;
  SiteGraph _graph;
  std::vector<HostId> _host_of;
};

class PacedLinear final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "paced-linear"; }
  [[nodiscard]] std::string_view source() const override {
    return "the linear algorithms of MPI libraries, in the order of Jackson's rule (Scheduling a "
           "Production Line to Minimize Maximum Tardiness)";
  }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override {
    return ranks <= most_squared_ranks;
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    return kind == Kind::gather || kind == Kind::scatter;
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    std::vector<Parameters> candidates;
    const Size eager = message_size(problem);
    for (const Size message : {eager, 4 * eager, eager / 3})
      if (message < problem.collective.size) candidates.push_back({.segment_size = message});
    candidates.emplace_back();
    if (problem.collective.kind == Kind::scatter) {
      const Size parts = (problem.collective.size + eager - 1) / eager;
      if (parts <= most_parts)
        candidates.push_back({.parts = static_cast<std::int32_t>(parts), .window = 1});
    }
    return candidates;
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton = begin(problem, parameters);
    skeleton.chunks *= std::clamp(parameters.parts, 1, most_parts);
    skeleton.period = std::max(1, (skeleton.ranks - 1) * parts(skeleton));
    skeleton.order = Pace(problem).order();
    return skeleton;
  }

  void check(const Skeleton& skeleton) const override {
    Algorithm::check(skeleton);
    if (skeleton.order.front() != skeleton.root)
      throw std::invalid_argument("a skeleton is damaged: its order doesn't begin at the root");
    if (skeleton.chunks % skeleton.ranks != 0 ||
        skeleton.chunks / skeleton.ranks > ChunkId{most_parts})
      throw std::invalid_argument("a skeleton is damaged: its blocks have no equal parts");
  }

  void emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    for (Rank at = 1; at < skeleton.ranks; ++at) {
      const Rank other = skeleton.order[index(at)];
      if (rank != collective::no_rank && rank != skeleton.root && rank != other) continue;
      const bool sends = kind == Kind::scatter;
      for (std::int32_t part = 0; part < parts(skeleton); ++part)
        sink.add(sends ? skeleton.root : other, sends ? other : skeleton.root,
                 (at - 1) * parts(skeleton) + part, schedule::How::copy,
                 schedule::Range{ChunkId{other} * parts(skeleton) + part, 1, 1});
    }
  }

private:
  static std::int32_t parts(const Skeleton& skeleton) {
    return static_cast<std::int32_t>(skeleton.chunks / skeleton.ranks);
  }
};

} // namespace

const Algorithm& paced_linear() {
  static const PacedLinear algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
