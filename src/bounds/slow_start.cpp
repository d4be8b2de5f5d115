/// The bound with TCP's slow start.
#include "bounds/bounds.hpp"
#include "bounds/view.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>

namespace thalweg::bounds {
namespace {

using collective::Collective;
using collective::Kind;

/// Hosts that are tried if there are many.
constexpr HostId most_hosts = 16;
/// Bytes of a window that limits nothing.
constexpr double most_window = 1e15;
/// A time below this fraction of another is rounding.
constexpr double rounding = 1e-9;

/// The connections from one host to another: one of each pair of their ranks.
struct Connections {
  double count = 0;
  double unused = 0;     ///< seconds of an operation in which they can't start data that counts
  double round_trip = 0; ///< seconds
  double rate = 0;       ///< bytes per second of each, at most; may be unlimited

  /// Returns the most bytes that can start in an operation of this time.
  [[nodiscard]] double bytes(double time, double initial_window) const {
    const double open = time - unused;
    if (open < 0) return 0;
    if (round_trip <= 0) return Reach::unlimited;
    const double carried = rate < Reach::unlimited ? rate * open : rate; // also if `open` is 0
    double sum = 0, window = initial_window;
    for (double round = 0; round <= open * (1 + rounding); round += round_trip) {
      sum += window;
      if (window >= most_window || sum >= carried) return count * carried;
      window *= 2;
    }
    return count * sum;
  }
};

/// Bounds data into sets of hosts or, with all directions reversed, out of them.
class SlowStart {
public:
  SlowStart(const Problem& problem, const Reach& reach, Bound& largest)
      : _network(problem.network), _reach(reach), _largest(largest),
        _window(static_cast<double>(problem.network.initial_window)), _hosts(index(reach.size())) {
    for (std::size_t rank = 0; rank < reach.host_of_rank.size(); ++rank)
      _hosts[index(reach.host_of_rank[rank])] = problem.placement[rank];
  }

  /// @param bytes that come to the hosts of a set from others
  /// @param source where all of them begin; no_host: anywhere
  void add(const Set& set, double bytes, HostId source = network::no_host) {
    if (bytes <= 0) return;
    Distances before(_hosts.size(), 0);
    if (source != network::no_host) before = _reach.distances_from(source);
    std::vector<Connections> all;
    for (HostId from = 0; from < _reach.size(); ++from)
      for (HostId to = 0; to < _reach.size() && set[index(from)] == 0; ++to)
        if (set[index(to)] != 0) all.push_back(connections(from, to, before[index(from)]));
    const auto reaches = [&](double time) {
      double sum = 0;
      for (const Connections& each : all)
        sum += each.bytes(time, _window);
      return sum >= bytes;
    };
    double low = _largest.time.value(), high = std::max(low, 1e-6);
    if (reaches(low)) return;
    while (!reaches(high))
      high *= 2;
    while (high - low > rounding * high)
      (reaches((low + high) / 2) ? high : low) = (low + high) / 2;
    const auto first = std::ranges::find(set, 1) - set.begin();
    const auto others = std::ranges::count(set, 1) - 1;
    std::string what = (_reach.is_transposed ? " from " : " to ") + _reach.names[index(first)];
    if (others > 0) what += " and " + std::to_string(others) + " more";
    _largest = {Time(low), units::size_to_text(static_cast<units::Size>(bytes)) + what +
                               " on connections that each begin with " +
                               units::size_to_text(_network.initial_window) + " a round trip"};
  }

private:
  [[nodiscard]] Connections connections(HostId from, HostId to, double before) const {
    const HostId a = _hosts[index(_reach.is_transposed ? to : from)];
    const HostId b = _hosts[index(_reach.is_transposed ? from : to)];
    const auto least = [&](HostId x, HostId y) {
      return _network.latency(x, y).value() *
             (1 - std::min(error_of(_network.latency_error, x, y), 1.0));
    };
    const double rate = _network.bandwidth(a, b).value();
    const double error = error_of(_network.bandwidth_error, a, b);
    return {.count = static_cast<double>(_reach.ranks[index(from)] * _reach.ranks[index(to)]),
            .unused = before + _reach.latency(from, to),
            .round_trip = least(a, b) + least(b, a),
            .rate = rate * (1 + error)};
  }

  const network::Network& _network;
  const Reach& _reach;
  Bound& _largest;
  double _window;
  std::vector<HostId> _hosts; ///< of the network, by host in use
};

/// Returns sets of hosts: each alone and, if there are few hosts, those that sites and trunks
/// suggest.
std::vector<Set> sets_of(const Reach& reach) {
  std::vector<Set> sets;
  if (reach.is_small()) sets = Groups(reach).sets();
  const HostId step = reach.is_small() ? 1 : (reach.size() + most_hosts - 1) / most_hosts;
  for (HostId host = 0; host < reach.size(); host += step)
    sets.emplace_back(index(reach.size()), 0)[index(host)] = 1;
  return sets;
}

/// Adds what must come to each set of hosts, or with time running backwards go from it.
void add(const Collective& collective, const Reach& reach, SlowStart& slow_start) {
  const HostId root = reach.host_of_rank[index(collective.root)];
  const auto size = static_cast<double>(collective.size);
  const bool has_blocks = collective.kind == Kind::scatter || collective.kind == Kind::gather ||
                          collective.kind == Kind::allgather ||
                          collective.kind == Kind::reduce_scatter;
  const std::vector<double> blocks =
      has_blocks ? reach.block_bytes(collective) : std::vector<double>();
  const std::vector<double> ranks(reach.ranks.begin(), reach.ranks.end());
  const HostId first = reach.is_transposed ? reach.host_of_rank.back() : reach.host_of_rank.front();
  for (const Set& set : sets_of(reach))
    switch (collective.kind) {
    case Kind::bcast:
    case Kind::reduce:
      if (set[index(root)] == 0) slow_start.add(set, size, root);
      break;
    case Kind::scatter:
    case Kind::gather:
      if (set[index(root)] == 0) slow_start.add(set, within(blocks, set), root);
      break;
    case Kind::allgather:
    case Kind::reduce_scatter:
      slow_start.add(set, beyond(blocks, set));
      break;
    case Kind::allreduce:
      slow_start.add(set, size);
      break;
    case Kind::scan:
    case Kind::exscan:
      if (set[index(first)] == 0) slow_start.add(set, size);
      break;
    case Kind::alltoall: // Blocks of equal sizes: those of each pair of ranks.
      if (collective.block_sizes.empty()) {
        const double own = within(ranks, set);
        slow_start.add(set, size * own * (collective.ranks - own));
      }
      break;
    case Kind::barrier:
      break;
    }
}

} // namespace

/// Proof: a connection starts its first data no earlier than that can be there, and its last one
/// its latency before the end. In the time between it starts at most an initial window in its first
/// round trip and twice as much in each further one, and no more than its rate allows. Windows
/// count whatever the rate is: one that holds what the rate brings in a round trip limits nothing,
/// but from then on no round trip brings more than that window, which is less than the windows that
/// are counted. Both are most for the least round trip and the highest rate that measurements
/// allow, so that the bound is the lower the less is known. All connections to a set of hosts, one
/// from each rank elsewhere to each of theirs, together have to bring what these need and don't
/// have. A reduction is a bcast whose time runs backwards: there the last data leaves the host in
/// time for the end, and the first one at the beginning.
Bound bound_with_slow_start(const Problem& problem) {
  Bound largest = bound(problem);
  const Collective& collective = problem.collective;
  if (problem.network.initial_window == 0 || collective.total() == 0 || largest.reason.empty())
    return largest;
  const Reach reach(problem, problem.cost);
  if (reach.size() == 1) return largest;
  const Reach backwards = reach.transposed();
  const bool is_gathered = collective.kind == Kind::reduce || collective.kind == Kind::gather ||
                           collective.kind == Kind::reduce_scatter;
  const bool is_both = collective.kind == Kind::allreduce || collective.kind == Kind::scan ||
                       collective.kind == Kind::exscan || collective.kind == Kind::alltoall;
  if (!is_gathered) {
    SlowStart slow_start(problem, reach, largest);
    add(collective, reach, slow_start);
  }
  if (is_gathered || is_both) {
    SlowStart slow_start(problem, backwards, largest);
    add(collective, backwards, slow_start);
  }
  return largest;
}

} // namespace thalweg::bounds
