#include "simulator/estimate.hpp"

#include "algorithms/cache.hpp"
#include "schedule/share.hpp"
#include "simulator/ports.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace thalweg::simulator {

namespace {

using collective::ChunkId;
using schedule::Transfer;

/// Sizes of a sample: ranks spread evenly, and slowest links of an order, whose ends join it, as do
/// the ranks at the slowest ports.
constexpr Rank spread_ranks = 6;
constexpr std::size_t slowest_links = 2;

/// Finds when a rank can send: a message that passes received data on belongs to a later phase.
class Phases {
public:
  /// Adds all transfers of the rank in one step. Returns the phase of its messages: one more than
  /// the phase in which the latest of the data it sends arrived; if it sends nothing, one more than
  /// that of the step before.
  std::int32_t add(Rank rank, std::span<const Transfer> same_step) {
    std::int32_t phase = never;
    for (const Transfer& t : same_step)
      if (t.from == rank && t.to != rank) phase = std::max(phase, arrival(t) + 1);
    if (phase == never) phase = _last + 1;
    for (const Transfer& t : same_step) {
      const std::int32_t time = t.from == rank ? arrival(t) : phase;
      if (t.from != rank) _last = phase;
      if (t.to == rank && time != never)
        for_each_chunk(t.what, [&](ChunkId chunk) { _arrivals[{t.dst, chunk}] = time; });
    }
    return phase;
  }

private:
  static constexpr std::int32_t never = -1; ///< present from the beginning

  [[nodiscard]] std::int32_t arrival(const Transfer& transfer) const {
    std::int32_t latest = never;
    for_each_chunk(transfer.what, [&](ChunkId chunk) {
      const auto found = _arrivals.find({transfer.src, chunk});
      if (found != _arrivals.end()) latest = std::max(latest, found->second);
    });
    return latest;
  }

  std::map<std::pair<schedule::Reg, ChunkId>, std::int32_t> _arrivals; ///< phases
  std::int32_t _last = never;
};

/// One message of the part, as seen by one of its two ends.
struct Side {
  Rank rank; ///< of this side
  bool sends;
  std::int32_t phase;
  bool combines;
  double bytes;
  ConnectionId connection;
};

/// The messages of some ranks in one segment, or of all.
class Part {
public:
  /// @param ranks of the part; empty: all
  Part(const Problem& problem, const Skeleton& skeleton, const std::vector<Rank>& ranks);

  /// Returns seconds if each phase lasts as long as its slowest rank takes with this window.
  [[nodiscard]] double in_phases(int window) const;
  /// Returns the busy seconds of the busiest CPU, port, trunk or connection.
  [[nodiscard]] double busiest() const;

private:
  void add(const Transfer& transfer, Rank rank, std::int32_t phase, const schedule::Layout& layout);
  void add_sampled(Rank rank, std::span<const Transfer> own, const schedule::Layout& layout);
  void connect();
  [[nodiscard]] const Path& path(const Side& side) const { return _ports->path(side.connection); }
  [[nodiscard]] std::span<const PortId> route(const Side& side) const {
    return side.sends ? _ports->departure(side.connection) : _ports->arrival(side.connection);
  }
  [[nodiscard]] double latency(const Side& side) const;
  [[nodiscard]] double cpu(const Side& side) const;
  /// Returns how many of the host's ranks this one stands for.
  [[nodiscard]] double crowd(Rank rank) const {
    const auto host = index(_problem.placement[index(rank)]);
    return _ranks_on[host] / _sampled_on[host];
  }
  [[nodiscard]] double crowd_of_trunk(std::size_t trunk) const;

  const Problem& _problem;
  network::MessageCost _cost;
  std::vector<Side> _sides;                 ///< by rank
  std::vector<std::pair<Rank, Rank>> _ends; ///< for the sides, then for the connections
  std::optional<Ports> _ports;
  std::vector<double> _ranks_on, _sampled_on; ///< by host
};

Part::Part(const Problem& problem, const Skeleton& skeleton, const std::vector<Rank>& ranks)
    : _problem(problem), _cost(problem.cost), _ranks_on(problem.network.hosts.size()),
      _sampled_on(_ranks_on) {
  const auto& collective = problem.collective;
  const schedule::Schedule form(skeleton.chunks, {}, {}, skeleton.weights);
  const schedule::Layout layout = form.layout(collective);
  for (const network::HostId host : problem.placement)
    ++_ranks_on[index(host)];
  if (ranks.empty()) {
    _sampled_on = _ranks_on;
    const schedule::Sink sink = algorithms::emit(collective.kind, skeleton, collective::no_rank);
    for (const Transfer& transfer : sink.transfers()) {
      add(transfer, transfer.from, 0, layout);
      add(transfer, transfer.to, 0, layout);
    }
  }
  for (const Rank rank : ranks) {
    ++_sampled_on[index(problem.placement[index(rank)])];
    const schedule::Sink sink = algorithms::emit(collective.kind, skeleton, rank);
    add_sampled(rank, sink.transfers(), layout);
  }
  connect();
}

void Part::add_sampled(Rank rank, std::span<const Transfer> own, const schedule::Layout& layout) {
  Phases phases;
  for (std::size_t begin = 0, end = 0; begin < own.size(); begin = end) {
    while (end < own.size() && own[end].step == own[begin].step)
      ++end;
    const auto same_step = own.subspan(begin, end - begin);
    const std::int32_t phase = phases.add(rank, same_step);
    for (const Transfer& transfer : same_step)
      add(transfer, rank, phase, layout);
  }
}

void Part::add(const Transfer& transfer, Rank rank, std::int32_t phase,
               const schedule::Layout& layout) {
  if (transfer.from == transfer.to) return;
  const Size size = layout.size(0, transfer.what);
  if (size == 0 && layout.total() > 0) return;
  const bool sends = rank == transfer.from;
  _sides.push_back({rank, sends, phase, !sends && transfer.how != schedule::How::copy,
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
  _ports.emplace(_problem.network, _problem.placement, _cost, *algorithms::trunk_sets(_problem),
                 connections);
}

double Part::latency(const Side& side) const {
  const Path& way = path(side);
  const bool shakes_hands = side.bytes > static_cast<double>(_cost.eager_limit);
  return way.latency +
         (shakes_hands ? way.latency + way.answer_latency + _cost.handshake.value() : 0);
}

double Part::cpu(const Side& side) const {
  const Path& way = path(side);
  // As in the simulators, messages within a host cost nothing but combining.
  const double message = way.from == way.to ? 0 : (side.sends ? _cost.send : _cost.receive).value();
  return message + (side.combines ? side.bytes * _cost.combine_per_byte.value() : 0);
}

double Part::in_phases(int window) const {
  struct Phase {
    double farthest = 0, sending = 0, receiving = 0, longest = 0;
    double sends = 0, receives = 0; ///< of all together, in flight
  };
  std::map<std::pair<std::int32_t, Rank>, Phase> phases;
  for (const Side& side : _sides) {
    Phase& phase = phases[{side.phase, side.rank}];
    const double alone = side.bytes / path(side).bandwidth;
    double port = cpu(side);
    for (const PortId id : route(side))
      port = std::max(port,
                      cpu(side) + side.bytes * crowd(side.rank) / _ports->capacities()[index(id)]);
    (side.sends ? phase.sending : phase.receiving) += port;
    (side.sends ? phase.sends : phase.receives) += latency(side) + alone;
    phase.farthest = std::max(phase.farthest, latency(side));
    phase.longest = std::max(phase.longest, alone);
  }
  std::map<std::int32_t, double> slowest;
  for (const auto& [key, phase] : phases) {
    const double in_flight = std::max(phase.sends, phase.receives) / window;
    const double time = std::max(
        phase.farthest + std::max({phase.sending, phase.receiving, phase.longest}), in_flight);
    slowest[key.first] = std::max(slowest[key.first], time);
  }
  double sum = 0;
  for (const auto& [phase, time] : slowest)
    sum += time;
  return std::max(sum, busiest());
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
  // One end of a connection may be outside of the part.
  std::ranges::transform(sent, received, sent.begin(), std::ranges::max);
  return std::max(*std::ranges::max_element(cpus), _ports->busiest(ports, sent));
}

/// Returns the first rank on the host whose port is the slowest.
Rank at_slowest(const Problem& problem, units::Rate network::Host::*port) {
  const auto rate = [&](network::HostId host) { return problem.network.hosts[index(host)].*port; };
  const auto found = std::ranges::min_element(problem.placement, {}, rate);
  return static_cast<Rank>(found - problem.placement.begin());
}

/// Returns the root, some ranks spread evenly, those at the slowest ports, and the ends of the
/// slowest links of an order.
std::vector<Rank> sample(const Problem& problem, const Skeleton& skeleton) {
  std::vector<Rank> ranks = {skeleton.root, at_slowest(problem, &network::Host::egress),
                             at_slowest(problem, &network::Host::ingress)};
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

/// Returns the same problem for `size` bytes, which aren't more.
Problem of_size(const Problem& problem, Size size) {
  Problem other = problem;
  if (size == problem.collective.size) return other;
  other.collective.size = size;
  for (Size& block : other.collective.block_sizes)
    block = schedule::share(block, size, problem.collective.size);
  return other;
}

} // namespace

Time estimate(const Problem& problem, const Skeleton& skeleton, const SimulationOptions& options) {
  algorithms::check(problem);
  const Size size = problem.collective.size;
  const schedule::Pipeline pipeline = skeleton.pipeline(size);
  const Problem one = of_size(problem, (size + pipeline.segments - 1) / pipeline.segments);
  Skeleton whole = skeleton;
  whole.segment_size = 0;
  SimulationOptions fast = options;
  fast.fidelity = Fidelity::fast;
  fast.max_messages = 0;
  // If most ranks send little, as in trees, a sample says nothing about the path through all.
  const std::int64_t most = std::max(options.max_messages, std::int64_t{4} * skeleton.ranks);
  const bool sampled =
      options.max_messages > 0 && (simulated_messages(one, whole, fast) > most ||
                                   carries_more_chunks(one, whole, most_chunks_carried));
  double first = 0, busiest = 0;
  if (sampled || pipeline.segments > 1) {
    const Part part(one, whole, sampled ? sample(one, whole) : std::vector<Rank>{});
    busiest = part.busiest();
    if (sampled) {
      first = part.in_phases(pipeline.window_within(options.window));
      if (!problem.entries.empty()) first += std::ranges::max(problem.entries).value();
    }
  }
  if (!sampled) first = simulate(one, whole, fast).time.value();
  return Time(first + (pipeline.segments - 1) * busiest);
}

} // namespace thalweg::simulator
