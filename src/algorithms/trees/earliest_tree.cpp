/// The tree in which each rank is served by the informed rank that reaches it first: earliest
/// completing edge first. Fast links are used early and often; for short messages. In an allreduce
/// a link counts with its slower direction.
/// Source: Bhat, Raghavendra, Prasanna: Efficient Collective Communication in Distributed
/// Heterogeneous Systems (ECEF).
#include "algorithms/trees/tree.hpp"
#include "network/host_classes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;
using network::HostId;

/// The cost of messages between ranks of two hosts, in seconds. It is the same for all hosts of a
/// kind: those that are equal in their pairs and ports.
class Links {
public:
  Links(const Problem& problem, Size message)
      : _problem(problem), _message(message),
        _overhead(std::max(least_overhead, problem.cost.send.value())) {
    find_kinds();
    for (const auto& from : _first_two)
      for (const auto& to : _first_two) {
        const HostId other = &from == &to ? to.back() : to.front();
        _busy.push_back(busy_between(from.front(), other));
        _arrival.push_back(_busy.back() + latency_between(from.front(), other));
      }
  }

  /// Returns how long a message keeps its sender busy.
  [[nodiscard]] double busy(HostId from, HostId to) const {
    return from == to ? _overhead : _busy[at(from, to)];
  }
  /// Returns the time from a send's begin until the receiver has the data.
  [[nodiscard]] double arrival(HostId from, HostId to) const {
    return from == to ? _overhead + latency_between(from, to) : _arrival[at(from, to)];
  }
  /// Returns the same for two different hosts of these kinds.
  [[nodiscard]] double arrival_between(std::size_t from, std::size_t to) const {
    return _arrival[from * kinds() + to];
  }
  [[nodiscard]] std::size_t kind(HostId host) const { return _kind_of[index(host)]; }
  [[nodiscard]] std::size_t kinds() const { return _first_two.size(); }

private:
  static constexpr double least_overhead = 1e-6; ///< so that serving many takes time

  void find_kinds() {
    const network::HostClasses classes = network::host_classes(_problem.network);
    std::map<std::tuple<std::int32_t, double, double>, std::size_t> known;
    _kind_of.resize(index(_problem.network.size()));
    // A communicator may have few of the network's hosts, of which each may be a kind by itself.
    for (const HostId host : network::used_hosts(_problem.placement)) {
      const network::Host& ports = _problem.network.hosts[index(host)];
      const auto [kind, is_new] = known.try_emplace(
          {classes.of[index(host)], ports.egress.value(), ports.ingress.value()}, known.size());
      _kind_of[index(host)] = kind->second;
      if (is_new) _first_two.emplace_back();
      if (_first_two[kind->second].size() < 2) _first_two[kind->second].push_back(host);
    }
  }
  [[nodiscard]] std::size_t at(HostId from, HostId to) const {
    return kind(from) * kinds() + kind(to);
  }

  [[nodiscard]] double busy_between(HostId from, HostId to) const {
    const Network& network = _problem.network;
    const auto occupied = [&](HostId a, HostId b) {
      return (_message / std::min({network.bandwidth(a, b), network.hosts[index(a)].egress,
                                   network.hosts[index(b)].ingress}))
          .value();
    };
    return _overhead + slower(from, to, occupied);
  }
  [[nodiscard]] double latency_between(HostId from, HostId to) const {
    return slower(from, to,
                  [&](HostId a, HostId b) { return _problem.network.latency(a, b).value(); });
  }
  /// Returns the cost in the direction, or directions, in which the collective's data flows.
  template <class Cost>
  double slower(HostId a, HostId b, Cost cost) const {
    if (!flows_up(_problem.collective.kind)) return cost(a, b);
    if (!flows_down(_problem.collective.kind)) return cost(b, a);
    return std::max(cost(a, b), cost(b, a));
  }

  const Problem& _problem;
  Size _message;
  double _overhead;                            ///< of a send
  std::vector<std::size_t> _kind_of;           ///< by host, of those with ranks
  std::vector<std::vector<HostId>> _first_two; ///< hosts of a kind, or its only one
  std::vector<double> _busy, _arrival;         ///< by kinds of two different hosts
};

/// The ranks with the data, and which of them would serve each other rank first. Ranks of a host
/// differ only in when they can send.
///
/// A host's server is looked for anew only when the host seems to be the next one to be reached:
/// since then its server may have become busier, but nothing could make it be reached sooner, apart
/// from newcomers.
class Growth {
public:
  Growth(const Links& links, std::span<const HostId> placement, Rank root)
      : parents(placement.size(), no_rank), _links(links), _by_kind(links.kinds()) {
    std::map<HostId, std::size_t> number;
    for (Rank rank = 0; rank < std::ssize(placement); ++rank) {
      const HostId host = placement[index(rank)];
      const auto [at, is_new] = number.try_emplace(host, _hosts.size());
      if (is_new) {
        _hosts.push_back({.id = host});
        _kinds.push_back(links.kind(host));
      }
      if (rank != root) _hosts[at->second].waiting.push_back(rank);
    }
    _reached.assign(_hosts.size(), std::numeric_limits<double>::infinity());
    _lowest.resize(_hosts.size());
    for (std::size_t host = 0; host < _hosts.size(); ++host)
      note_lowest(host);
    join(number.at(placement[index(root)]), root, 0);
  }

  void run() {
    while (order.size() < parents.size()) {
      const std::size_t newcomer = earliest();
      Host& next = _hosts[newcomer];
      const std::size_t server = next.server;
      const double arrival = _reached[newcomer];
      const auto [free, parent] = _hosts[server].senders.top();
      _hosts[server].senders.pop();
      _hosts[server].senders.emplace(free + _links.busy(_hosts[server].id, next.id), parent);
      const Rank rank = next.waiting.front();
      next.waiting.pop_front();
      note_lowest(newcomer);
      parents[index(rank)] = parent;
      if (next.waiting.empty()) _reached[newcomer] = std::numeric_limits<double>::infinity();
      join(newcomer, rank, arrival);
    }
  }

  std::vector<Rank> order, parents;

private:
  /// When a rank can send, and the rank.
  using Sender = std::pair<double, Rank>;
  struct Host {
    HostId id = 0;
    std::deque<Rank> waiting{};
    std::priority_queue<Sender, std::vector<Sender>, std::greater<>> senders{};
    std::size_t server = 0; ///< the host whose first sender would serve the next that waits here
  };

  [[nodiscard]] double end(std::size_t server, const Host& host) const {
    const Host& from = _hosts[server];
    return from.senders.top().first + _links.arrival(from.id, host.id);
  }
  /// Gives a rank the data, so that it can serve others.
  void join(std::size_t newcomer, Rank rank, double free) {
    order.push_back(rank);
    Host& own = _hosts[newcomer];
    own.senders.emplace(free, rank);
    const std::size_t kind = _links.kind(own.id);
    for (std::size_t other = 0; other < _links.kinds(); ++other)
      _by_kind[other] = own.senders.top().first + _links.arrival_between(kind, other);
    for (std::size_t host = 0; host < _hosts.size(); ++host)
      if (host != newcomer && _by_kind[_kinds[host]] < _reached[host] &&
          !_hosts[host].waiting.empty())
        serve(newcomer, host, _by_kind[_kinds[host]]);
    if (!own.waiting.empty()) serve_from(newcomer, newcomer);
  }

  /// Returns the host with the rank that can be reached first.
  [[nodiscard]] std::size_t earliest() {
    for (;;) {
      const std::size_t next = seemingly_earliest();
      const double reached = end(_hosts[next].server, _hosts[next]);
      if (reached <= _reached[next]) return next;
      _reached[next] = reached;
      for (std::size_t server = 0; server < _hosts.size(); ++server)
        if (!_hosts[server].senders.empty()) serve_from(server, next);
    }
  }

  /// Returns the host with the lowest waiting rank where several are reached at the same time.
  [[nodiscard]] std::size_t seemingly_earliest() const {
    std::size_t best = 0;
    for (std::size_t host = 1; host < _hosts.size(); ++host)
      if (_reached[host] < _reached[best] ||
          (_reached[host] == _reached[best] && _lowest[host] < _lowest[best]))
        best = host;
    return best;
  }

  void note_lowest(std::size_t host) {
    const std::deque<Rank>& waiting = _hosts[host].waiting;
    _lowest[host] = waiting.empty() ? std::numeric_limits<Rank>::max() : waiting.front();
  }

  /// Lets a host with senders serve another if that reaches it sooner.
  void serve_from(std::size_t server, std::size_t host) {
    if (const double reached = end(server, _hosts[host]); reached < _reached[host])
      serve(server, host, reached);
  }
  void serve(std::size_t server, std::size_t host, double reached) {
    _hosts[host].server = server;
    _reached[host] = reached;
  }

  const Links& _links;
  std::vector<Host> _hosts;
  std::vector<std::size_t> _kinds; ///< by host
  std::vector<double> _by_kind;    ///< when a newcomer would reach other hosts
  std::vector<Rank> _lowest;       ///< by host: its first waiting rank; above all if none waits
  /// By host: when its next rank would have the data at the earliest, unless its server is busier
  /// by now; infinity if none waits.
  std::vector<double> _reached;
};

class EarliestTree final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "earliest-tree"; }
  [[nodiscard]] std::string_view source() const override {
    return "Bhat, Raghavendra, Prasanna: Efficient Collective Communication in Distributed "
           "Heterogeneous Systems (earliest completing edge first)";
  }

  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    return segments(problem);
  }

  [[nodiscard]] bool builds_quickly(Rank ranks) const override { return ranks <= 128; }

  /// The order of the ranks doesn't matter. O(ranks · hosts) in general, O(ranks · hosts²) at
  /// worst: if each newcomer lets all hosts look for another server.
  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const Size size = problem.collective.size;
    const Links links(problem,
                      parameters.segment_size > 0 ? std::min(parameters.segment_size, size) : size);
    Growth growth(links, problem.placement, natural_root(problem));
    growth.run();
    return tree(problem, parameters, std::move(growth.order), std::move(growth.parents));
  }
};

} // namespace

const Algorithm& earliest_tree() {
  static const EarliestTree algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
