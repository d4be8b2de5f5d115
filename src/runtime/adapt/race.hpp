#pragma once

#include "collective/collective.hpp"
#include "runtime/adapt/candidates.hpp"
#include "runtime/adapt/watch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace thalweg::runtime {

/// Returns how many of a size's low bits don't tell its band: sizes of a band have the same five
/// highest bits, so they differ by less than a sixteenth.
constexpr int bits_within_band(units::Size size) {
  return std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size))) - 5);
}

/// The calls of a communicator that race together. Their sizes are of one band: calls whose times
/// differ by more than candidates must, since their sizes do, can't be compared.
struct RaceKey {
  collective::Kind kind{};
  collective::Rank root = 0; ///< 0 where there is none
  units::Size band = 0;      ///< the least size, as Collective::size
  [[nodiscard]] units::Size most_size() const {
    return band - 1 + (units::Size{1} << bits_within_band(band));
  }
  /// Returns the least size of its size class, for which a table has a plan.
  [[nodiscard]] units::Size class_begin() const {
    return static_cast<units::Size>(std::bit_floor(static_cast<std::uint64_t>(band)));
  }
  [[nodiscard]] bool is_of_same_class(const RaceKey& other) const {
    return kind == other.kind && root == other.root && class_begin() == other.class_begin();
  }
  bool operator==(const RaceKey&) const = default;
};

/// The sizes of calls, of one band.
struct SizeRange {
  units::Size least = 0, most = 0;
};

/// Returns the key of a call. @param size as Collective::size
inline RaceKey key_of(collective::Kind kind, collective::Rank root, units::Size size) {
  const int within = bits_within_band(size);
  return {kind, root, size >> within << within};
}

/// When a rank entered a call and left it, in nanoseconds; of rank 0's clock, if Race::by_clocks().
struct CallTimes {
  std::int64_t enter_ns = 0, exit_ns = 0;
};

/// A rank's share in the time of a call, or that of all ranks: the minimum of each number.
struct Share {
  std::int64_t first = 0, second = 0;
};

/// What the ranks agree on besides the times of calls.
struct RaceFacts {
  std::int64_t predicted_plan_ns = 0, predicted_native_ns = 0; ///< 0: not known
  std::int64_t clock_error_ns = 0;
  std::int64_t elapsed_ns = 0; ///< since the last agreement
  std::int64_t mean_ns = 0;    ///< of the calls since then, on the rank that spent least in them
  std::int64_t calm_ns = 0;    ///< since then, in which the ranks spent in calls what is usual
  /// The largest share of a turn that a rank spent between its calls, in thousandths.
  std::int64_t between_permille = 0;
};

/// Plans and the MPI library's own collective, called in turn for one shape of call. All decisions
/// are functions of counted calls and of agreed integers, so that they are equal on all ranks; only
/// the times of calls, which share() hands out, are a rank's own.
///
/// The incumbent is watched: the ranks agree on the times of some of its calls. When it is time,
/// the others are its challengers, one in each race: the first one in turn that is expected to lose
/// no more than 2 % of what all calls took. It is tried, three calls; then both take turns of four
/// calls, in rounds of 16. The first call of a turn doesn't count. The challenger wins a round if
/// its median is better by 5 %, and clearly if its times lie beyond the incumbent's. It wins the
/// race by two clear rounds, by one where its median is better by 20 %, or by three rounds.
/// Otherwise the incumbent stays. The next race comes after as many calls as there were before, or
/// when the incumbent has twice been seen to take 25 % longer than it took when it won, or 20 %
/// less; twice as many times after a race for that reason that changed nothing.
///
/// What a call costs (late arrivals aren't its cost, but prevail in the longest of the ranks' own
/// times): on aligned clocks, the time from the last entry that matters, or from the last exit of
/// the call before, to the last exit. Where clocks aren't good enough, and calls follow each other
/// at once on all ranks, it is the mean time from exit to exit over a turn, on the rank for which
/// that is the longest: the others don't leave it behind for long. Elsewhere, if no rank leaves
/// before all have entered, it is the mean over a turn's calls on the rank for which it is the
/// shortest: which rank waits least may differ from call to call.
class Race {
public:
  static constexpr std::size_t most_shares = 12;
  /// What happened at the end of a race.
  struct Verdict {
    std::uint64_t call = 0;      ///< of this shape, after which it held
    Candidate winner{}, loser{}; ///< the two that were timed in turn
    ByCandidate<std::int64_t> cost_ns;
  };
  static constexpr std::size_t most_verdicts = 8;

  /// @param weight roughly what a call takes
  /// @param incumbent of the candidates, @param uses_clocks where they aren't needed, until their
  /// error is known
  Race(RaceKey key, std::int64_t weight, Candidates candidates, Candidate incumbent,
       bool uses_clocks)
      : _key(key), _weight(weight), _candidates(candidates), _incumbent(incumbent),
        _challenger(candidates.after(incumbent)), _began(incumbent),
        _uses_clocks(uses_clocks), _sizes{key.most_size(), key.band} {}

  [[nodiscard]] const RaceKey& key() const { return _key; }
  [[nodiscard]] const Candidates& candidates() const { return _candidates; }
  /// Whether only aligned clocks tell what a call costs that doesn't follow another one at once.
  [[nodiscard]] bool needs_clocks() const;
  /// Whether they are used for that.
  [[nodiscard]] bool by_clocks() const { return needs_clocks() || _uses_clocks; }
  /// Returns how the next call is executed. The same on all ranks.
  [[nodiscard]] Candidate next() const;
  /// Notes the size of this rank's next call.
  void note_size(units::Size size) {
    _sizes = {std::min(_sizes.least, size), std::max(_sizes.most, size)};
  }
  /// Returns the sizes of this rank's calls; those of the band, if none was noted.
  [[nodiscard]] SizeRange sizes() const {
    return _sizes.least <= _sizes.most ? _sizes : SizeRange{_key.band, _key.most_size()};
  }
  /// Counts a call, which was executed as next() said.
  void count(CallTimes ticks) {
    _times[_calls++ % kept] = ticks;
    _spent_ticks += ticks.exit_ns - ticks.enter_ns;
    if (++_window_calls == window_calls) end_window();
  }
  /// Called when the ranks begin to agree on its calls.
  void begin_agreement() {
    const auto calls = static_cast<std::int64_t>(_calls - _counted_from);
    _mean_ticks = _spent_ticks / std::max<std::int64_t>(1, calls);
    _spent_ticks = 0;
    _counted_from = _calls;
    _calm_ticks = std::exchange(_calm_so_far_ticks, 0);
  }
  /// Returns what this rank spent in a call, on average over those between the last two times that
  /// the ranks began to agree on them.
  [[nodiscard]] std::int64_t mean_ticks() const { return _mean_ticks; }
  /// Returns how long this rank's calls between these times took what they did when all was usual.
  [[nodiscard]] std::int64_t calm_ticks() const { return _calm_ticks; }

  /// Whether enough calls of the incumbent have been made that its times can be agreed on.
  [[nodiscard]] bool can_be_watched() const {
    return is_idle() && _calls >= _settled + least_calls;
  }
  /// Whether a race may begin.
  [[nodiscard]] bool is_due() const { return _calls >= _next_race; }
  /// Whether the incumbent was off at the last look, which the next one is to confirm.
  [[nodiscard]] bool is_suspicious() const {
    return _off_looks > 0 || (_watch.is_off() && !has_drifted());
  }
  /// Whether the plan lastingly takes another time than it used to, or did so when another one won.
  [[nodiscard]] bool has_drifted() const {
    return is_idle() &&
           (_watch.has_drifted() || (_watch.is_off() && _incumbent != Candidate::plan));
  }
  [[nodiscard]] const Watch& watch() const { return _watch; }
  /// What the plan takes now is usual from now on.
  void settle_watch() { _watch.settle(); }
  /// Begins anew with another plan, which is the incumbent.
  /// @param compares whether it is to be compared with the one before: what takes other times from
  /// look to look, as where a link comes and goes, with the most of the latest looks
  void restart(bool compares);
  /// Forgets what was usual, since plans of calls around its own have changed.
  void restart_watch() {
    _watch.restart();
    _usual_ticks = 0;
  }
  /// Lets the plan be compared with this time of the one before restart(), after that.
  void compare_plan(std::int64_t ns) { _plan_before_ns = ns; }
  /// Whether the plan is known to take 5 % longer than the one before restart().
  [[nodiscard]] bool has_worse_plan() const { return _is_worse; }
  /// Returns how much it matters: calls since the last look, by what one costs roughly.
  [[nodiscard]] std::int64_t urgency() const;
  [[nodiscard]] bool is_idle() const { return _phase == Phase::idle; }
  /// Whether all calls of a trial or a round have been made, so that it is time to agree.
  [[nodiscard]] bool is_complete() const;

  /// Returns this rank's shares in the calls to agree on, in the order that agree() expects.
  /// @param rank of this process, @param to_ns turns a time that count() got into nanoseconds
  template <class ToNs>
  std::size_t shares(collective::Rank rank, std::span<Share, most_shares> shares,
                     const ToNs& to_ns) const {
    std::size_t count = 0;
    for (const Turn& turn : turns()) {
      const std::size_t begin = count;
      std::int64_t sum_ns = 0;
      for (std::uint64_t call = turn.first; call < turn.first + turn.calls; ++call) {
        const CallTimes& ticks = _times[call % kept];
        Share& own = shares[count++];
        own = share({to_ns(ticks.enter_ns), to_ns(ticks.exit_ns)}, rank);
        if (!by_clocks()) own.first = sum_ns += own.first;
      }
      // Nothing else needs the first share's first number.
      if (turn.calls > 0) shares[begin].first = to_ns(begin_of(turn)) - to_ns(end_of(turn));
    }
    return count;
  }
  /// Returns the largest share of a turn that this rank spent between its calls, in thousandths.
  [[nodiscard]] std::int64_t between_permille() const;
  /// Goes on with what the ranks have agreed on. @param shares the minimum over all ranks
  void agree(std::span<const Share, most_shares> shares, const RaceFacts& facts);
  /// Gives up what is going on, since its calls don't come.
  void abandon() { settle(); }
  /// Returns for good to what is planned.
  void stop();

  /// Returns a number that differs, most likely, where the decisions would.
  [[nodiscard]] std::uint64_t hash() const;
  [[nodiscard]] std::uint64_t calls() const { return _calls; }
  [[nodiscard]] Candidate incumbent() const { return _incumbent; }
  /// Returns the incumbent of the first call: what is planned, or what won in an earlier run.
  [[nodiscard]] Candidate began_with() const { return _began; }
  [[nodiscard]] std::span<const Verdict> verdicts() const { return {_verdicts.data(), _kept}; }
  [[nodiscard]] std::int64_t cost_ns(Candidate candidate) const { return _cost_ns[candidate]; }
  [[nodiscard]] const RaceFacts& facts() const { return _facts; }
  /// Returns the time that calls of challengers took beyond the incumbent's.
  [[nodiscard]] std::int64_t lost_ns() const { return _lost_ns; }
  [[nodiscard]] std::uint64_t races() const { return _races; }

private:
  enum class Phase : std::uint8_t { idle, trial, round, stopped };
  /// Consecutive calls that are timed.
  struct Turn {
    std::uint64_t first = 0, calls = 0;
    Candidate candidate{};
  };
  /// Agreed costs of calls, ascending, by candidate.
  struct Costs {
    std::array<std::int64_t, most_shares> ns{};
    std::size_t count = 0;
    /// @param calls that cost as much
    void add(std::int64_t cost_ns, std::size_t calls = 1);
    void sort();
    [[nodiscard]] std::int64_t median() const { return ns[count / 2]; }
  };
  static constexpr std::size_t kept = 16;         ///< calls of a round
  static constexpr std::uint64_t least_calls = 8; ///< before it is watched
  static constexpr std::uint64_t turn_calls = 4, trial_calls = 3, watched_calls = 6;
  /// The calls of a window, of which it is noted whether they took what is usual.
  static constexpr std::uint64_t window_calls = 3;
  static constexpr int most_rounds = 3, least_off_looks = 2, most_off_looks = 64;

  [[nodiscard]] std::array<Turn, kept / turn_calls> turns() const;
  /// Returns when this rank left the call before a turn.
  [[nodiscard]] std::int64_t begin_of(const Turn& turn) const {
    return _times[(turn.first - 1) % kept].exit_ns;
  }
  [[nodiscard]] std::int64_t end_of(const Turn& turn) const {
    return _times[(turn.first + turn.calls - 1) % kept].exit_ns;
  }
  [[nodiscard]] Share share(const CallTimes& times, collective::Rank rank) const;
  using AddCosts = void (Race::*)(Costs&, std::span<const Share>) const;
  [[nodiscard]] ByCandidate<Costs> costs(std::span<const Share, most_shares> shares,
                                         AddCosts add) const;
  void add_by_clocks(Costs& costs, std::span<const Share> turn) const;
  void add_least(Costs& costs, std::span<const Share> turn) const;
  void add_in_a_row(Costs& costs, std::span<const Share> turn) const;
  [[nodiscard]] bool are_in_a_row() const;
  [[nodiscard]] bool are_clocks_good(std::int64_t cost_ns) const;
  [[nodiscard]] bool can_tell(std::int64_t cost_ns) const;
  [[nodiscard]] Candidate next_challenger() const;
  [[nodiscard]] std::int64_t expected_ns() const;
  void end_window();
  void look_at(std::int64_t incumbent_ns);
  bool changes_measure(std::int64_t cost_ns);
  void look_at_plan();
  void try_out(std::int64_t challenger_ns);
  void compare(const ByCandidate<Costs>& costs);
  void begin_race();
  void begin(Phase phase);
  void settle();
  void decide(Candidate winner);
  /// Returns the calls that must have been made before so much may be lost.
  [[nodiscard]] std::uint64_t calls_to_afford(std::int64_t loss_ns) const;
  [[nodiscard]] bool affords(std::int64_t loss_ns) const {
    return _calls >= calls_to_afford(loss_ns);
  }
  [[nodiscard]] std::int64_t excess_ns(std::int64_t challenger_ns) const;
  void lose(std::uint64_t calls, std::int64_t challenger_ns);

  RaceKey _key;
  std::int64_t _weight = 1; ///< what a call costs roughly
  Candidates _candidates;
  Candidate _incumbent, _challenger, _began;
  Phase _phase = Phase::idle;
  int _rounds = 0, _better_rounds = 0, _clear_rounds = 0, _off_looks = 0;
  int _needed_looks = least_off_looks; ///< that are off, until a race may begin
  bool _is_alarmed = false;            ///< the next race begins, or has begun, because of them
  std::uint64_t _calls = 0, _races = 0;
  std::uint64_t _begin = 0;           ///< the first call of a trial or round
  std::uint64_t _settled = 0;         ///< the calls from here on are the incumbent's
  std::uint64_t _looked = 0;          ///< the calls at the last agreement
  std::uint64_t _next_race = 0;       ///< the calls from which on one may begin
  ByCandidate<std::int64_t> _cost_ns; ///< 0: not known
  std::int64_t _won_ns = 0;           ///< what the incumbent took when it won
  std::int64_t _lost_ns = 0;
  std::uint64_t _counted_from = 0; ///< the calls at the last agreement's begin
  /// This rank's own, in the calls from there on, and in each of those before.
  std::int64_t _spent_ticks = 0, _mean_ticks = 0;
  std::int64_t _usual_ticks = 0; ///< the mean when all was usual last; 0: not known
  std::uint64_t _window_calls = 0;
  std::int64_t _calm_so_far_ticks = 0, _calm_ticks = 0;
  RaceFacts _facts;
  Watch _watch;                     ///< of the plan
  std::int64_t _plan_before_ns = 0; ///< of the plan before restart(), until it was compared
  bool _is_worse = false;
  bool _uses_clocks = false;                      ///< where they aren't needed
  SizeRange _sizes;                               ///< the least is above the most: none noted yet
  std::array<Verdict, most_verdicts> _verdicts{}; ///< the first ones, and the last
  std::size_t _kept = 0;
  std::array<CallTimes, kept> _times{}; ///< this rank's own, by call modulo their number
};

} // namespace thalweg::runtime
