/// The tree in which each rank is served by the informed rank that reaches it first: earliest
/// completing edge first. Fast links are used early and often; for short messages. In an allreduce
/// a link counts with its slower direction.
/// Source: Bhat, Raghavendra, Prasanna: Efficient Collective Communication in Distributed
/// Heterogeneous Systems (ECEF).
#include "algorithms/trees/tree.hpp"
#include "units/index.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;
using network::HostId;

/// The cost of messages, in seconds.
class Links {
public:
  Links(const Problem& problem, Size message) : _problem(problem), _message(message) {
    _overhead = std::max(_overhead, problem.cost.send.value());
  }

  /// Returns how long a message keeps its sender busy.
  [[nodiscard]] double busy(Rank from, Rank to) const {
    if (host(from) == host(to)) return _overhead;
    const Network& network = _problem.network;
    const auto occupied = [&](HostId a, HostId b) {
      return (_message / std::min({network.bandwidth(a, b), network.hosts[index(a)].egress,
                                   network.hosts[index(b)].ingress}))
          .value();
    };
    return _overhead + slower(from, to, occupied);
  }
  /// Returns the time from a send's begin until the receiver has the data.
  [[nodiscard]] double arrival(Rank from, Rank to) const {
    const auto latency = [&](HostId a, HostId b) { return _problem.network.latency(a, b).value(); };
    return busy(from, to) + slower(from, to, latency);
  }

private:
  [[nodiscard]] HostId host(Rank rank) const { return _problem.placement[index(rank)]; }
  /// Returns the cost in the direction, or directions, in which the collective's data flows.
  template <class Cost>
  double slower(Rank from, Rank to, Cost cost) const {
    const HostId a = host(from), b = host(to);
    if (!flows_up(_problem.collective.kind)) return cost(a, b);
    if (!flows_down(_problem.collective.kind)) return cost(b, a);
    return std::max(cost(a, b), cost(b, a));
  }

  const Problem& _problem;
  Size _message;
  double _overhead = 1e-6; ///< of a send; above 0, so that serving many takes time
};

/// The ranks with the data, and which of them would serve each other rank first.
class Growth {
public:
  Growth(const Links& links, Rank ranks, Rank root)
      : parents(index(ranks), no_rank), _links(links), _free(index(ranks), 0),
        _server(index(ranks), root), _joined(index(ranks), false) {
    join(root);
  }

  void run() {
    while (order.size() < parents.size()) {
      const Rank next = earliest();
      const Rank server = _server[index(next)];
      parents[index(next)] = server;
      _free[index(next)] = end(server, next);
      _free[index(server)] += _links.busy(server, next);
      join(next);
      // The server is busy longer now, so ranks that would have waited for it may do better
      // elsewhere.
      for (Rank rank = 0; rank < ranks(); ++rank)
        if (!_joined[index(rank)]) choose_server(rank, _server[index(rank)] == server, next);
    }
  }

  std::vector<Rank> order, parents;

private:
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(parents.size()); }
  [[nodiscard]] double end(Rank from, Rank to) const {
    return _free[index(from)] + _links.arrival(from, to);
  }
  void join(Rank rank) {
    order.push_back(rank);
    _joined[index(rank)] = true;
  }

  [[nodiscard]] Rank earliest() const {
    Rank best = no_rank;
    for (Rank rank = 0; rank < ranks(); ++rank)
      if (!_joined[index(rank)] &&
          (best == no_rank || end(_server[index(rank)], rank) < end(_server[index(best)], best)))
        best = rank;
    return best;
  }

  void choose_server(Rank rank, bool among_all, Rank newcomer) {
    Rank& server = _server[index(rank)];
    const auto consider = [&](Rank other) {
      if (end(other, rank) < end(server, rank)) server = other;
    };
    if (among_all)
      std::ranges::for_each(order, consider);
    else
      consider(newcomer);
  }

  const Links& _links;
  std::vector<double> _free; ///< by joined rank: when it can send
  std::vector<Rank> _server;
  std::vector<char> _joined;
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

  /// The order of the ranks doesn't matter. O(ranks²) in general, O(ranks³) at worst.
  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const Size size = problem.collective.size;
    const Links links(problem,
                      parameters.segment_size > 0 ? std::min(parameters.segment_size, size) : size);
    Growth growth(links, problem.collective.ranks, natural_root(problem));
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
