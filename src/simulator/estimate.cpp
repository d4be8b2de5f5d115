#include "simulator/estimate.hpp"

#include "simulator/ports.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace thalweg::simulator {

namespace {

using schedule::Step;
using schedule::Transfer;

/// Ranks that a sample spreads evenly, and links of an order, the slowest ones, whose ends join it.
constexpr Rank spread_ranks = 6;
constexpr std::size_t slowest_links = 2;

std::size_t index(std::int32_t value) { return static_cast<std::size_t>(value); }

/// One message of the part that is looked at, as one of its two ends sees it.
struct Side {
  Rank rank; ///< whose side it is
  bool sends;
  Step step;
  bool combines;
  double bytes;
  ConnectionId connection;
};

/// The messages of some ranks in one segment, or of all.
class Part {
public:
  /// @param ranks those to look at; empty: all
  Part(const Problem& problem, const Skeleton& skeleton, const std::vector<Rank>& ranks,
       const network::MessageCost& cost);

  /// Seconds if each step lasts as long as the longest message in it.
  [[nodiscard]] double in_rounds() const;
  /// Seconds if no message waits for another but at ports, with so many in flight.
  [[nodiscard]] double in_any_order(int window) const;
  /// Seconds for which the busiest CPU, port, trunk or connection is busy.
  [[nodiscard]] double busiest() const;

private:
  void add(const Transfer& transfer, Rank rank, const schedule::Layout& layout);
  void connect();
  [[nodiscard]] const Path& path(const Side& side) const { return _ports->path(side.connection); }
  [[nodiscard]] std::span<const PortId> route(const Side& side) const {
    return side.sends ? _ports->departure(side.connection) : _ports->arrival(side.connection);
  }
  [[nodiscard]] double latency(const Side& side) const;
  [[nodiscard]] double cpu(const Side& side) const;
  /// Ranks of the host that do as this one does.
  [[nodiscard]] double crowd(Rank rank) const {
    const auto host = index(_problem.placement[index(rank)]);
    return _ranks_on[host] / _sampled_on[host];
  }
  [[nodiscard]] double crowd_of_trunk(std::size_t trunk) const;

  const Problem& _problem;
  network::MessageCost _cost;
  std::vector<Side> _sides;                 ///< by rank, then as emitted: ascending steps
  std::vector<std::pair<Rank, Rank>> _ends; ///< of the sides, then of the connections
  std::optional<Ports> _ports;
  std::vector<double> _ranks_on, _sampled_on; ///< by host
};

Part::Part(const Problem& problem, const Skeleton& skeleton, const std::vector<Rank>& ranks,
           const network::MessageCost& cost)
    : _problem(problem), _cost(cost), _ranks_on(problem.network.hosts.size()),
      _sampled_on(_ranks_on) {
  const auto& algorithm = algorithms::find(skeleton.algorithm);
  const auto& collective = problem.collective;
  const schedule::Schedule form(skeleton.chunks, {}, {}, skeleton.weights);
  const schedule::Layout layout = form.layout(collective);
  for (const network::HostId host : problem.placement)
    ++_ranks_on[index(host)];
  if (ranks.empty()) {
    _sampled_on = _ranks_on;
    schedule::Sink sink;
    algorithm.emit(collective.kind, skeleton, collective::no_rank, sink);
    for (const Transfer& transfer : sink.transfers()) {
      add(transfer, transfer.from, layout);
      add(transfer, transfer.to, layout);
    }
  }
  for (const Rank rank : ranks) {
    ++_sampled_on[index(problem.placement[index(rank)])];
    schedule::Sink sink;
    algorithm.emit(collective.kind, skeleton, rank, sink);
    for (const Transfer& transfer : sink.transfers())
      add(transfer, rank, layout);
  }
  connect();
}

void Part::add(const Transfer& transfer, Rank rank, const schedule::Layout& layout) {
  if (transfer.from == transfer.to) return;
  Size size = 0;
  for (const schedule::Range& range : transfer.what)
    layout.for_each_interval(0, range,
                             [&](schedule::Interval interval) { size += interval.size(); });
  if (size == 0 && layout.total() > 0) return;
  const bool sends = rank == transfer.from;
  _sides.push_back({rank, sends, transfer.step, !sends && transfer.how != schedule::How::copy,
                    static_cast<double>(size), 0});
  _ends.emplace_back(transfer.from, transfer.to);
}

void Part::connect() {
  std::vector<std::pair<Rank, Rank>> connections = _ends;
  std::ranges::sort(connections);
  connections.erase(std::unique(connections.begin(), connections.end()), connections.end());
  for (std::size_t i = 0; i < _sides.size(); ++i)
    _sides[i].connection = static_cast<ConnectionId>(
        std::ranges::lower_bound(connections, _ends[i]) - connections.begin());
  _ports.emplace(_problem.network, _problem.placement, _cost, connections);
}

double Part::latency(const Side& side) const {
  const Path& way = path(side);
  const bool shakes_hands = side.bytes > static_cast<double>(_cost.eager_limit);
  return way.latency +
         (shakes_hands ? way.latency + way.answer_latency + _cost.handshake.value() : 0);
}

double Part::cpu(const Side& side) const {
  return (side.sends ? _cost.send : _cost.receive).value() +
         (side.combines ? side.bytes * _cost.combine_per_byte.value() : 0);
}

double Part::in_rounds() const {
  struct Round {
    double latency = 0, sending = 0, receiving = 0, link = 0;
    [[nodiscard]] double time() const { return latency + std::max({sending, receiving, link}); }
  };
  std::map<Step, double> longest;
  for (std::size_t begin = 0, end = 0; begin < _sides.size(); begin = end) {
    Round round;
    const Side& first = _sides[begin];
    for (; end < _sides.size() && _sides[end].rank == first.rank && _sides[end].step == first.step;
         ++end) {
      const Side& side = _sides[end];
      double port = 0;
      for (const PortId id : route(side))
        port = std::max(port, side.bytes * crowd(side.rank) / _ports->capacities()[index(id)]);
      (side.sends ? round.sending : round.receiving) += port + cpu(side);
      round.latency = std::max(round.latency, latency(side));
      round.link = std::max(round.link, side.bytes / path(side).bandwidth);
    }
    double& time = longest[first.step];
    time = std::max(time, round.time());
  }
  double sum = 0;
  for (const auto& [step, time] : longest)
    sum += time;
  return std::max(sum, busiest());
}

double Part::in_any_order(int window) const {
  std::map<Rank, double> waits;
  double farthest = 0;
  for (const Side& side : _sides) {
    waits[side.rank] += (latency(side) + side.bytes / path(side).bandwidth) / (2 * window);
    farthest = std::max(farthest, latency(side));
  }
  double longest = 0;
  for (const auto& [rank, time] : waits)
    longest = std::max(longest, time);
  return std::max(longest, busiest()) + farthest;
}

double Part::crowd_of_trunk(std::size_t trunk) const {
  double all = 0, sampled = 0;
  for (const network::HostId host : _problem.network.trunks[trunk].from) {
    all += _ranks_on[index(host)];
    sampled += _sampled_on[index(host)];
  }
  return all / sampled;
}

double Part::busiest() const {
  const auto hosts = _problem.network.hosts.size();
  std::vector<double> ports(_ports->capacities().size()), cpus(hosts), sent(_ports->connections()),
      received(sent);
  for (const Side& side : _sides) {
    cpus[index(_problem.placement[index(side.rank)])] += crowd(side.rank) * cpu(side);
    (side.sends ? sent : received)[index(side.connection)] += side.bytes;
    for (const PortId id : route(side))
      ports[index(id)] += crowd(side.rank) * side.bytes;
    if (side.sends)
      for (const PortId id : _ports->trunks(side.connection))
        ports[index(id)] += side.bytes;
  }
  for (std::size_t trunk = 0; trunk < _problem.network.trunks.size(); ++trunk)
    if (double& bytes = ports[3 * hosts + trunk]; bytes > 0) bytes *= crowd_of_trunk(trunk);
  // Of a connection one end may be outside of the part.
  std::ranges::transform(sent, received, sent.begin(), std::ranges::max);
  return std::max(*std::ranges::max_element(cpus), _ports->busiest(ports, sent));
}

/// The root, some ranks spread evenly, and the ends of the slowest links of an order.
std::vector<Rank> sample(const Problem& problem, const Skeleton& skeleton) {
  std::vector<Rank> ranks = {skeleton.root};
  for (Rank i = 0; i < spread_ranks; ++i)
    ranks.push_back(static_cast<Rank>(std::int64_t{skeleton.ranks} * i / spread_ranks));
  const auto& order = skeleton.order;
  const Size message = std::max<Size>(1, problem.collective.total() / skeleton.chunks);
  std::vector<std::pair<Time, std::size_t>> links;
  for (std::size_t at = 0; at + 1 < order.size(); ++at)
    links.emplace_back(problem.network.transfer_time(problem.placement[index(order[at])],
                                                     problem.placement[index(order[at + 1])],
                                                     message),
                       at);
  const std::size_t count = std::min(slowest_links, links.size());
  std::ranges::partial_sort(links, links.begin() + static_cast<std::ptrdiff_t>(count),
                            std::greater<>());
  for (std::size_t i = 0; i < count; ++i) {
    ranks.push_back(order[links[i].second]);
    ranks.push_back(order[links[i].second + 1]);
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

/// The same problem of `size` bytes.
Problem of_size(const Problem& problem, Size size) {
  Problem other = problem;
  other.collective.size = size;
  for (Size& block : other.collective.block_sizes)
    block = block * size / std::max<Size>(1, problem.collective.size);
  return other;
}

/// Of one segment, from what a sample of the ranks does.
double estimate_part(const Problem& problem, const Part& part, int window) {
  // Nobody waits for anything in an alltoall: its rounds are the ranks' own.
  return problem.collective.kind == collective::Kind::alltoall ? part.in_any_order(window)
                                                               : part.in_rounds();
}

} // namespace

Time estimate(const Problem& problem, const Skeleton& skeleton, const Options& options) {
  check(problem);
  const network::MessageCost cost = network::message_cost(problem.network, options.library);
  const Size size = problem.collective.size;
  const schedule::Pipeline pipeline = skeleton.pipeline(size);
  const Problem one = of_size(problem, (size + pipeline.segments - 1) / pipeline.segments);
  Skeleton whole = skeleton;
  whole.segment_size = 0;
  Options fast = options;
  fast.fidelity = Fidelity::fast;
  fast.max_messages = 0;
  // Where a rank sends little, as in trees, a sample says nothing about the way through all.
  const std::int64_t most = std::max(options.max_messages, std::int64_t{4} * skeleton.ranks);
  const bool sampled = options.max_messages > 0 && simulated_messages(one, whole, fast) > most;
  double first = 0, busiest = 0;
  if (sampled || pipeline.segments > 1) {
    const Part part(one, whole, sampled ? sample(one, whole) : std::vector<Rank>{}, cost);
    busiest = part.busiest();
    if (sampled) first = estimate_part(one, part, pipeline.window_within(options.window));
  }
  if (!sampled) first = simulate(one, whole, fast).time.value();
  return Time(first + (pipeline.segments - 1) * busiest);
}

} // namespace thalweg::simulator
