#pragma once

#include "simulator/ports.hpp"
#include "simulator/progress.hpp"
#include "simulator/wire.hpp"

#include <optional>

namespace thalweg::simulator {

/// Finds out when a simulated pipeline repeats itself, and how much of it may be skipped.
///
/// A rank is steady if what it did in its last segments it did `period` segments before too, each
/// of it `time` seconds earlier: when its receives were posted, its messages started, and its data
/// was in place. This must hold for as long as a segment and a message of the rank take and for two
/// periods more, and for all that has happened in segments not yet complete. What a rank does next
/// follows from what it and its partners have done within that time. So once all ranks that aren't
/// finished are steady, they go on like this, until a rank runs out of segments, or of messages
/// that a faster one has sent ahead. The argument and its limits, above all handshakes that cross:
/// docs/decisions/0036-steady-states.md.
///
/// What never repeats itself exactly may still keep an even pace: three successive windows of
/// segments, each longer than a segment and a message of the rank take, take the same time per
/// segment within 0.5 %. All else must hold too.
///
/// Ranks may differ in how fast they proceed, since messages without a handshake may pile up
/// between them. In the time that is skipped, the slowest ranks complete whole periods, the others
/// as many as come closest.
class SteadyState {
public:
  /// All arguments must outlive it. The workload must have mean sizes.
  SteadyState(const Workload& workload, const Ports& ports);

  /// What a rank's steady state is known by.
  enum class Evidence : std::uint8_t {
    repetition, ///< it repeats itself
    even_pace,  ///< or keeps an even pace
    guess,      ///< or keeps a nearly even pace, maybe for a short time only; nothing proves that
  };
  struct Skip {
    double time = 0;                    ///< seconds that aren't simulated
    std::vector<std::int32_t> segments; ///< by rank: how many it completes in that time
    std::vector<double> per_segment;    ///< by rank: seconds; 0 if it is finished
    bool repeats_each_segment = false;  ///< whether no rank's period is longer than a segment
    /// Whether a guess rests on paces that are less even than an even pace, or that were kept for
    /// less time than a segment and a message of the rank take.
    bool is_doubtful = false;
  };
  /// Returns what may be skipped now, if there is anything. Mostly O(ranks); O(segments × periods
  /// tried) for a rank that begins to repeat itself.
  std::optional<Skip> find(double now, const execution::Executor& executor, const Wire& wire,
                           std::span<const Span> spans, std::span<const Frontier> frontiers,
                           Evidence evidence = Evidence::repetition);

  /// When a rank has completed all its segments if it keeps the pace of its last ones.
  struct Outlook {
    double end = 0;           ///< seconds
    double per_segment = 0;   ///< seconds
    bool is_doubtful = false; ///< as Skip::is_doubtful
  };
  /// Returns a guess by rank, which nothing proves; or nothing while a rank has completed too few
  /// segments for one. O(ranks).
  std::optional<std::vector<Outlook>> outlooks(const execution::Executor& executor,
                                               std::span<const Span> spans);

private:
  /// A time that is known of each segment of a rank.
  struct Mark {
    std::int32_t transfer;
    double Span::*time;
  };
  /// Repeats itself every `period` segments, `time` seconds later.
  struct Rhythm {
    std::int32_t period = 0;
    double time = 0;
    [[nodiscard]] double per_segment() const { return time / period; }
  };
  struct Progress {
    std::vector<Mark> marks;
    double delay = 0;          ///< seconds that a message to or from the rank may take
    std::int32_t complete = 0; ///< segments of which all times are known
    std::vector<double> sums = {
        0}; ///< of the times when the first 0, 1, ... segments were complete
    std::int32_t begun = 0, segments = 0;
    Rhythm rhythm;
    double earliest = 0;      ///< seconds before which it can't be steady
    bool is_doubtful = false; ///< as Skip::is_doubtful
    std::int32_t skipped = 0; ///< segments, in what is tried
    [[nodiscard]] bool is_finished() const { return complete == segments; }
  };

  [[nodiscard]] double time(const Mark& mark, std::int32_t segment) const;
  [[nodiscard]] Progress& progress(Rank rank) { return _progress[static_cast<std::size_t>(rank)]; }
  void follow(Progress& own, const execution::Executor& executor);
  void complete_segments(Progress& own);
  /// Returns the mean of the times when the segments of a window were complete.
  /// @param after how many complete windows come after it
  [[nodiscard]] static double mean_end(const Progress& own, std::int32_t window,
                                       std::int32_t after);
  /// Returns seconds per segment from one window of segments to the next one.
  [[nodiscard]] static double pace(const Progress& own, std::int32_t window, std::int32_t after) {
    return (mean_end(own, window, after) - mean_end(own, window, after + 1)) / window;
  }
  /// Finds the rhythms of all ranks that aren't finished. Returns whether they have one.
  [[nodiscard]] bool find_rhythms(const execution::Executor& executor);
  [[nodiscard]] bool find_rhythm(Progress& own) const;
  [[nodiscard]] bool find_pace(Progress& own) const;
  /// Whether the last windows of segments are about equally fast, and each is long enough.
  [[nodiscard]] bool is_even(const Progress& own, std::int32_t window) const;
  /// Whether the rank repeats itself. If it has not for long enough, sets Progress::earliest.
  [[nodiscard]] bool repeats(Progress& own, const Rhythm& rhythm) const;
  /// Returns the seconds from the first to the last time of a segment that is complete.
  [[nodiscard]] double duration(const Progress& own, std::int32_t segment) const;
  [[nodiscard]] bool is_in_time(const Progress& own, const Rhythm& rhythm) const;
  [[nodiscard]] bool differs(const Mark& mark, std::int32_t segment, const Rhythm& rhythm) const;
  [[nodiscard]] bool is_wire_steady(const Wire& wire) const;
  /// Gives ranks that are equally fast a common rhythm. Returns whether they have one.
  [[nodiscard]] bool find_common_rhythms();
  /// Whether no rank receives faster than its sender sends, nor slower where the sender waits for
  /// the receiver: else a rhythm is only a phase of a longer one.
  [[nodiscard]] bool are_paces_possible() const;
  /// Returns the most periods of the slowest ranks for which no rank runs out of segments.
  [[nodiscard]] std::int32_t most_periods(const Rhythm& slowest) const;
  void count_skipped(const Rhythm& slowest, std::int32_t periods);
  /// Whether no message is overtaken: what is posted is still to come, and what has come is there.
  [[nodiscard]] bool is_consistent(std::span<const Frontier> frontiers) const;

  const Workload& _workload;
  std::vector<Progress> _progress; ///< by rank
  std::vector<Progress*> _running; ///< those that aren't finished, from the fastest on
  std::span<const Span> _spans;
  double _now = 0;
  Evidence _evidence = Evidence::repetition;
  bool _is_doubtful = false; ///< as Skip::is_doubtful
  Rank _first = 0;           ///< the rank to begin with: the last one that wasn't steady
};

} // namespace thalweg::simulator
