#pragma once

#include "algorithms/algorithm.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Predicts when each transfer of a schedule ends on a network.
///
/// The ranks follow the rules of the runtime's executor. From its entry each goes through its
/// transfers in the global order (step + segment * period, segment, from, to) within a window from
/// its lowest incomplete one. A receive is posted when it enters the window; a send also waits for
/// the arrival of the data it reads and for the sends before it to the same rank. Transfers without
/// bytes are left out, unless the collective has no bytes at all.
///
/// A message of m bytes on an idle network takes L + m / B. Besides:
/// - the messages of an ordered pair of ranks share one connection and flow one after the other;
/// - a host's egress and ingress and the trunks are shared by all connections through them; ranks
///   of one host reach each other by latency(i,i) and bandwidth(i,i) (infinite: no time) and share
///   nothing else;
/// - a message above MessageCost::eager_limit flows only after its receive is posted, and so do
///   those of the same transfer in other segments, whose sizes may be a byte less: the request
///   takes L(from,to), the answer L(to,from). The answer waits behind the data on its connection,
///   so that large messages that cross go one after the other, unless both requests take longer
///   than the ranks' skew;
/// - a host's CPU serves one message's `send`, `receive` or combining at a time; `per_byte` limits
///   its incoming and outgoing data together to 1 / per_byte;
/// - with Network::initial_window a connection sends that many bytes in its first round trip, and
///   twice as many in each further one, until its bandwidth limits it: TCP's slow start, in `fluid`
///   only. Since TCP counts packets, the first round trip has at most ten messages of the first
///   one's size.
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
  /// The most sends, and separately receives, in flight per rank, as THALWEG_WINDOW; 0: as many as
  /// a schedule asks for (schedule::Pipeline::window_within).
  int window = 0;
  bool timeline = false; ///< fill Prediction::timeline
  /// 0: all messages are simulated. Else a long pipeline is simulated until all ranks have repeated
  /// themselves within 1e-4 for a while, what repeats is skipped, and what follows is simulated
  /// again (steady_state.hpp). Where large messages cross, that isn't proven: 1.4 % too little has
  /// been seen. The number says how many messages simulated_messages() expects of a pipeline that
  /// fills quickly.
  std::int64_t max_messages = 0;
  /// Messages of a pipeline after which what is left is guessed from how it progressed so far,
  /// which may be wrong by a lot where paths hold many segments: it counts as steady if it keeps a
  /// nearly even pace, and after twice as many in any case. Each rank must have completed 8
  /// segments. For search only. 0: any number.
  std::int64_t guess_after = 0;
  /// Messages after which a pipeline also counts as steady whose ranks keep an even pace without
  /// repeating themselves exactly (steady_state.hpp). 0: never.
  std::int64_t even_after = 0;
  /// Seconds after which a simulation is given up: the predicted time is then infinite, and there
  /// are no exits.
  Time give_up = Time::infinity();
};

/// One simulated message.
struct SimulatedMessage {
  Rank from = 0, to = 0;
  schedule::Step step = 0; ///< step + segment * period
  std::int32_t segment = 0;
  Size size = 0;
  Time start{}, end{};     ///< when its first byte leaves; when its data is in place
  std::int32_t cause = -1; ///< index of the event whose end let this one start; -1: the beginning
};

struct Prediction {
  /// Last exit, counted from 0; ranks enter at Problem::entries. Infinite if it was given up.
  Time time{};
  std::int64_t messages = 0; ///< number of messages simulated
  /// If it was guessed doubtfully (SteadyState::Skip::is_doubtful): the largest
  /// SimulationOptions::guess_after with which it would be the same, as far as that is known; else
  /// 0.
  std::int64_t guessed_after = 0;
  std::vector<Time> exits;                ///< by rank
  std::vector<SimulatedMessage> timeline; ///< in order of (step, segment, from, to) if asked for
  [[nodiscard]] bool is_guessed() const { return guessed_after > 0; }
};

/// Remembers pipelines to which any number of further segments of the same size can be added, by
/// skeleton and fidelity: those in which all ranks came to repeat themselves with every segment
/// or to keep an even pace, and those that were guessed (SimulationOptions::guess_after); and all
/// predictions. Valid for one network, placement and kind of collective, and for
/// options that differ in fidelity, SimulationOptions::give_up and SimulationOptions::guess_after
/// only.
class Memo {
public:
  struct Pipeline {
    std::int32_t least = 0;          ///< segments that it must have
    Size size = 0;                   ///< bytes for which it was simulated
    std::vector<double> exits;       ///< seconds by rank, for that size
    std::vector<double> per_segment; ///< seconds by rank that each further segment adds
    std::int64_t guessed_after = 0;  ///< as Prediction::guessed_after
  };
  /// Guesses are found only by options that let guess as early.
  [[nodiscard]] const Pipeline* find(const Skeleton& skeleton,
                                     const SimulationOptions& options) const;
  void add(const Skeleton& skeleton, Fidelity fidelity, const Pipeline& pipeline);

  /// Returns what was predicted for this very size.
  [[nodiscard]] const Prediction* find(const Skeleton& skeleton, Size size,
                                       const SimulationOptions& options) const;
  void add(const Skeleton& skeleton, Size size, const SimulationOptions& options,
           Prediction prediction);

private:
  struct Result {
    Size size;
    Fidelity fidelity;
    Time give_up;
    Prediction prediction;
  };
  /// What is known of a skeleton, which is kept once: it may have ranks × trees integers.
  struct Known {
    Skeleton skeleton;
    std::map<Fidelity, Pipeline> pipelines;
    std::vector<Result> results;
  };
  [[nodiscard]] const Known* find(const Skeleton& skeleton) const;
  Known& at(const Skeleton& skeleton);

  std::vector<Known> _known;
};

/// Predicts the time of a skeleton. Deterministic. `fast` costs O(messages log messages); `fluid`
/// also O(flows in flight) for each change of the set of busy connections. With a timeline all
/// messages are simulated. Pipelines that `memo` knows aren't simulated again.
/// @throws std::invalid_argument if the placement doesn't give each rank a host of the network
Prediction simulate(const Problem& problem, const Skeleton& skeleton,
                    const SimulationOptions& options = {}, Memo* memo = nullptr);
/// Predicts the time of any schedule of the problem's collective.
Prediction simulate(const Problem& problem, const schedule::Schedule& schedule,
                    const SimulationOptions& options = {});

/// Returns about how many messages simulate() would simulate, without expanding the schedule:
/// estimated from three ranks, one of them the root. 2³¹ - 1 if it may refuse to.
std::int64_t simulated_messages(const Problem& problem, const Skeleton& skeleton,
                                const SimulationOptions& options);

/// Returns about how many messages may flow at the same time at most: those of one connection flow
/// one after the other. As cheap as simulated_messages().
std::int64_t most_flows(const Problem& problem, const Skeleton& skeleton,
                        const SimulationOptions& options);

/// The most chunks that the messages of a segment may carry together: to simulate them takes about
/// ten bytes for each.
inline constexpr std::int64_t most_chunks_carried = std::int64_t{1} << 27;
/// Whether the messages of a segment carry more chunks together than `most`, as an alltoall's do
/// that go through other ranks. As cheap as simulated_messages(), and free if ranks times chunks
/// are no more.
bool carries_more_chunks(const Problem& problem, const Skeleton& skeleton, std::int64_t most);

/// @throws std::invalid_argument as algorithms::check(), or if the options' window or number of
/// messages is below 0
void check(const Problem& problem, const SimulationOptions& options);

/// Returns the chain of events that determines the time of a whole timeline, first to last.
/// @throws std::invalid_argument if a cause isn't in the timeline, or events cause each other
std::vector<SimulatedMessage> critical_path(const std::vector<SimulatedMessage>& timeline);

} // namespace thalweg::simulator
