#pragma once

#include "algorithms/algorithm.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Predicts when each transfer of a schedule ends on a network.
///
/// The ranks behave as the runtime's executor: from when it enters on each goes through its
/// transfers in the global order (step + segment * period, segment, from, to) within a window from
/// its lowest incomplete one. A receive is posted when it enters the window; a send also waits for
/// what it reads to have arrived and for the sends before it to the same rank. Transfers that carry
/// no bytes are left out, unless the collective has none at all.
///
/// A message of m bytes on an idle network takes L + m / B. Besides:
/// - the messages of an ordered pair of ranks share one connection and flow one after the other;
/// - a host's egress and ingress and the trunks are shared by all connections through them; ranks
///   of one host reach each other by latency(i,i) and bandwidth(i,i) (infinite: no time) and share
///   nothing else;
/// - a message above MessageCost::eager_limit flows only after its receive is posted: the request
///   takes L(from,to), the answer L(to,from). The answer waits behind what flows on its
///   connection, so that large messages that cross go one after the other, unless both requests
///   are under way for longer than ranks are apart;
/// - a host's CPU serves one message's `send`, `receive` or combining at a time; `per_byte` limits
///   what flows in and out of it together to 1 / per_byte;
/// - with Network::initial_window a connection sends so many bytes in its first round trip, twice
///   as many in the next one, until its bandwidth limits it: TCP's slow start, in `fluid` only. In
///   the first round trip it sends ten messages like the first at most, since TCP counts packets.
///
/// A send is complete when its last byte has left, a receive when the data is in place.
namespace thalweg::simulator {

using algorithms::Problem;
using algorithms::Skeleton;
using collective::Rank;
using units::Size;
using units::Time;

enum class Fidelity : std::uint8_t {
  fast,  ///< ports and trunks serve one message after the other: for search
  fluid, ///< max-min fair sharing of ports and trunks: for the final ranking
};

struct SimulationOptions {
  Fidelity fidelity = Fidelity::fluid;
  /// Sends and, apart, receives in flight per rank at most, as THALWEG_WINDOW; 0: as many as a
  /// schedule asks for (schedule::Pipeline::window_within).
  int window = 0;
  bool timeline = false; ///< fill Prediction::timeline
  /// Of a longer pipeline simulate only the segments of about so many messages, and extrapolate:
  /// once it is full, each segment adds the same time. At least what fills it, thrice. 0: simulate
  /// all.
  std::int64_t max_messages = 0;
};

/// One message as simulated.
struct Event {
  Rank from = 0, to = 0;
  schedule::Step step = 0; ///< step + segment * period
  std::int32_t segment = 0;
  Size size = 0;
  Time start{}, end{};     ///< when its first byte leaves; when its data is in place
  std::int32_t cause = -1; ///< index of the event whose end let this one start; -1: the beginning
};

struct Prediction {
  Time time{};                 ///< last exit, counted from 0; ranks enter at Problem::entries
  Time simulated{};            ///< the same of the part of a long pipeline that was simulated
  std::int64_t messages = 0;   ///< that were simulated
  std::vector<Time> exits;     ///< by rank
  std::vector<Event> timeline; ///< in order of (step, segment, from, to) if asked for
};

/// How pipelines go on, as simulated of their beginnings, by skeleton and fidelity: whatever the
/// size, those of the same segments go on alike. For problems that differ in size only, and options
/// that differ in fidelity only.
class Memo {
public:
  /// How a pipeline begins, and goes on.
  struct Beginning {
    std::int32_t segments = 0; ///< that were simulated
    std::vector<double> exits; ///< seconds by rank, of so many segments
    double per_segment = 0;    ///< seconds that each further one adds
  };
  [[nodiscard]] const Beginning* find(const Skeleton& skeleton, Fidelity fidelity) const;
  void add(const Skeleton& skeleton, Fidelity fidelity, Beginning beginning);

private:
  struct Entry {
    Skeleton skeleton;
    Fidelity fidelity;
    Beginning beginning;
  };
  std::vector<Entry> _entries;
};

/// Deterministic. `fast` costs O(messages log messages); `fluid` also O(flows in flight) for each
/// change of the set of busy connections. With a timeline all segments are simulated. What `memo`
/// knows isn't simulated again.
/// @throws std::invalid_argument if the placement doesn't give each rank a host of the network
Prediction simulate(const Problem& problem, const Skeleton& skeleton,
                    const SimulationOptions& options = {}, Memo* memo = nullptr);
/// The same for any schedule of the problem's collective.
Prediction simulate(const Problem& problem, const schedule::Schedule& schedule,
                    const SimulationOptions& options = {});

/// About how many messages simulate() would go through, without expanding the schedule: judged by
/// three ranks of it, the root one of them.
std::int64_t simulated_messages(const Problem& problem, const Skeleton& skeleton,
                                const SimulationOptions& options);

/// @throws std::invalid_argument if the placement doesn't give each rank a host of the network, or
/// there are entries that don't give each rank a time from 0 on
void check(const Problem& problem);
/// @throws std::invalid_argument also if the options' window is below 0
void check(const Problem& problem, const SimulationOptions& options);

/// The events that set the time of a timeline, first to last.
std::vector<Event> critical_path(const std::vector<Event>& timeline);

} // namespace thalweg::simulator
