#include "planner/window.hpp"

#include <algorithm>
#include <limits>

namespace thalweg::planner {
namespace {

using collective::Rank;
using network::HostId;

/// Most hosts that are compared.
constexpr std::size_t most_hosts = 128;
/// Seconds of a round trip; on a shorter path a pipeline loses little, however few messages fill
/// it.
constexpr double shortest_round_trip = 1e-3;
/// Handshakes and messages arriving out of order make a message last longer than its path's
/// latency.
constexpr double spare = 2;

/// Returns the hosts in use, or most_hosts of them, spread evenly.
std::vector<HostId> some_hosts(const network::Placement& placement) {
  std::vector<HostId> used = network::used_hosts(placement);
  if (used.size() <= most_hosts) return used;
  std::vector<HostId> hosts;
  for (std::size_t i = 0; i < most_hosts; ++i)
    hosts.push_back(used[i * used.size() / most_hosts]);
  return hosts;
}

/// Messages and bytes that one rank sends and receives.
struct Load {
  double messages = 0, bytes = 0;
};

/// Returns the load of all segments together, for the root if it exchanges data with every rank,
/// else for a rank in the middle.
Load load_of(const Problem& problem, const Skeleton& skeleton) {
  const schedule::Pipeline pipeline = skeleton.pipeline(problem.collective.size);
  const schedule::Schedule form(skeleton.chunks, {}, {}, skeleton.weights);
  const schedule::Layout layout = form.layout(problem.collective);
  const collective::Kind kind = problem.collective.kind;
  const Rank from_root = collective::root_has_blocks(kind) ? 0 : skeleton.ranks / 2;
  const Rank rank = (skeleton.root + from_root) % skeleton.ranks;
  const schedule::Sink sink = algorithms::emit(kind, skeleton, rank);
  Load load;
  for (const schedule::Transfer& transfer : sink.transfers()) {
    if (transfer.from == transfer.to) continue;
    load.messages += pipeline.segments;
    load.bytes += static_cast<double>(layout.size(0, transfer.what));
  }
  return load;
}

} // namespace

LongPath::LongPath(const Problem& problem) : _slowest(std::numeric_limits<double>::infinity()) {
  _overhead = std::max(problem.cost.send, problem.cost.receive).value();
  const std::vector<HostId> hosts = some_hosts(problem.placement);
  for (const HostId a : hosts)
    for (const HostId b : hosts) {
      if (a == b) continue;
      const double round_trip =
          (problem.network.latency(a, b) + problem.network.latency(b, a)).value();
      const double rate = problem.network.bandwidth(a, b).value();
      _slowest = std::min(_slowest, rate);
      _fastest = std::max(_fastest, rate);
      const Path path{round_trip, rate};
      if (path.bandwidth_delay() > _fullest.bandwidth_delay()) _fullest = path;
      if (round_trip >= shortest_round_trip && path.bandwidth_delay() > _long.bandwidth_delay())
        _long = path;
    }
}

std::int32_t LongPath::window(const Problem& problem, const Skeleton& skeleton) const {
  const bool is_pipeline = skeleton.pipeline(problem.collective.size).segments > 1;
  const Path& path = is_pipeline ? _long : _fullest;
  if (skeleton.window > 0 || (path.round_trip == 0 && _slowest >= _fastest)) return 0;
  constexpr double usual = schedule::usual_window;
  const Load load = load_of(problem, skeleton);
  if (load.messages <= 2 * usual) return 0;
  const double bytes = load.bytes / load.messages;
  const auto messages_within = [&](double seconds, double rate) {
    const double time = std::max(bytes / rate, _overhead);
    return time > 0 ? seconds / time : 0;
  };
  const double needed = std::min({std::max(messages_within(spare * path.round_trip, path.rate),
                                           messages_within(usual * bytes / _slowest, _fastest)),
                                  load.messages / 2, static_cast<double>(schedule::widest_window)});
  if (needed <= usual) return 0;
  return schedule::window_for(static_cast<std::int64_t>(needed));
}

} // namespace thalweg::planner
