#pragma once

#include "runtime/mpi/open_since.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thalweg::runtime {

/// The numbers that the ranks of a communicator agree on while plans change: the minimum of each.
using ReplanRecord = std::array<std::int64_t, 6>;

/// What an attempt to change plans is for.
enum class Purpose : std::uint8_t {
  drift,       ///< other plans, since calls take another time than usual
  recovery,    ///< the plans before, if what the plans in force avoid is as it was
  improvement, ///< a plan for the calls as they come, though nothing drifted
};

/// How the ranks of a communicator come from a suspicion to another table of plans: a state machine
/// without messages and clocks, which is the same on all ranks.
///
/// Ranks make room for what is to come at their first epoch. When they have agreed that a plan
/// takes another time than usual, what they observe in the next 8 calls is collected at the leader,
/// rank 0, which plans in a thread of its own. That needn't be confirmed yet; new plans wait until
/// it is, and are dropped if it has passed, and then such an attempt isn't made again for 20 s, and
/// for twice as long each further time. Confirmed drifts don't wait for that. Where the new plans
/// would be better if the network were in either state for half of the time, it may come and go for
/// up to 10 s: if it does, these plans hold. Meanwhile the ranks ask whether it is ready: for the
/// first time after what takes half a second, then after twice as long, up to four seconds, since
/// ranks that are ahead wait for each answer; or seldom, if that isn't urgent. If it is, all make
/// room for the new plans, unless they are few; if all have room, they are shared; if all could
/// read them and have them alike, all use them from the next call on
/// in which no race is being agreed on. Anything else leaves the old plans. Each of these is one
/// nonblocking collective, which all ranks begin in the same call and wait for as OpenSince says.
///
/// After a change of plans 20 s pass until the next one may begin. If plans then change for the
/// opposite reason, or plans were worse and are taken back, twice as long: what comes and goes is
/// spread, not drift.
///
/// Plans that avoid a part of the network take no less when it recovers. Therefore, while such
/// plans are in force, the plans before are tried for four calls from time to time. What is
/// observed of them tells whether the network is as it was: then all ranks return to them. What has
/// lasted for some time is expected to last as long again; for that, pauses are such that trials
/// and recoveries that are noticed late cost least, so they grow as the square root of the time.
///
/// A plan whose calls take what they usually do is planned anew once, for the calls as they come,
/// after 5 s at the earliest: what was planned before the run knew neither which calls follow each
/// other nor which of them matter. What the leader spends on that is a twentieth of the time so far
/// at most: the next improvement waits until there is time for one that takes as long as the last.
/// Planning for what drifted isn't counted and never waits for that.
class AttemptState {
public:
  /// What begins in a call.
  enum class Act : std::uint8_t {
    nothing,
    try_before,
    collect,
    plan,
    agree,
    share,
    adopt,
    go_back
  };
  /// How far an attempt has come; the same on all ranks.
  enum class Stage : std::uint8_t {
    calm,
    observing, ///< calls since the suspicion
    preparing, ///< making room for what is collected
    trying,    ///< the plans before the last change, for some calls
    improving, ///< a plan for the calls as they come, without any drift
    collecting,
    planning, ///< asking whether the leader has planned
    allocating,
    sharing,
    checking,
    adopting,  ///< the new table holds from the next possible call on
    returning, ///< the old one does
    off,       ///< ranks disagreed
  };
  /// How an attempt ended, for reports.
  enum class Outcome : std::uint8_t { none, nothing_better, no_memory, unreadable, adopted };

  static constexpr std::uint64_t least_distance = 2, most_distance = 512;
  static constexpr std::int64_t least_rest_ns = 20'000'000'000;
  static constexpr std::int64_t question_pause_ns = 500'000'000; ///< until the first question
  static constexpr std::uint64_t trial_calls = 4;
  static constexpr std::uint64_t observed_calls = 8;
  static constexpr std::int64_t longest_doubt_ns = 10'000'000'000;
  static constexpr std::int64_t improvement_pause_ns = 5'000'000'000;
  static constexpr std::int64_t improvement_share = 20; ///< improvements may take a twentieth
  static constexpr std::int64_t least_look_ns = 5'000'000'000, longest_look_ns = 160'000'000'000;
  /// Tables of up to this many bytes need no room to be made.
  static constexpr std::int64_t room = 1 << 16;
  /// What the leader answers in the stage `planning`, besides the bytes of the new plans. When it
  /// is looked for a recovery, any bytes mean that it is found.
  static constexpr std::int64_t busy = -1, nothing = 0;

  AttemptState() = default;
  /// @param improvement_ns what the first improvement is expected to take; equal on all ranks
  explicit AttemptState(std::int64_t improvement_ns) : _last_improvement_ns(improvement_ns) {}

  /// Counts a blocking call of the communicator. Returns what begins in it.
  /// @param may_change whether the table may change in this call: no race is being agreed on
  Act enter(bool may_change) {
    ++_calls;
    return next(may_change);
  }
  /// Returns what begins in the same call, after something has ended in it.
  Act next(bool may_change);
  /// Whether something has begun and not ended.
  [[nodiscard]] bool is_open() const { return _open.is_open(); }
  /// Whether it must be waited for before anything else in this call.
  [[nodiscard]] bool is_late() const { return is_open() && _open.is_late(_calls); }
  /// Whether it has begun in an earlier call than the one so many calls ago; in one much earlier,
  /// if it isn't urgent.
  [[nodiscard]] bool has_begun_before(std::uint64_t ago) const {
    const bool is_urgent = _purpose != Purpose::improvement;
    return is_open() && ago < _calls &&
           _open.is_late(_calls - ago, is_urgent ? 1 : OpenSince::least_patience);
  }

  /// Begins to make room, once.
  void prepare() {
    if (!_is_prepared && _stage == Stage::calm && !_has_ended) _stage = Stage::preparing;
  }
  /// Begins, unless it is too early for that, or there is no room: then it returns false.
  /// @param race the number of the race whose plan drifted
  /// @param slower or faster
  /// @param now_ns the agreed time since the beginning
  /// @param is_confirmed whether it is known that this lasts
  bool suspect(std::size_t race, bool slower, std::int64_t now_ns, bool is_confirmed = true);
  /// Whether an attempt goes on that hasn't been confirmed.
  [[nodiscard]] bool is_unconfirmed() const { return changes_plans() && !_is_confirmed; }
  /// Whether an attempt goes on that may lead to new plans.
  [[nodiscard]] bool changes_plans() const {
    return _stage != Stage::calm && _stage != Stage::preparing && _stage != Stage::off &&
           !_is_dismissed && _purpose != Purpose::recovery;
  }
  [[nodiscard]] bool is_confirmed() const { return _is_confirmed; }
  /// @param comes_and_goes what began, and doesn't last
  void confirm(bool comes_and_goes = false) {
    _is_confirmed = true;
    _comes_and_goes = comes_and_goes;
  }
  /// Whether an attempt that isn't confirmed may go on though calls take as usual again, since its
  /// plans are better on the mean of both, or aren't known yet.
  [[nodiscard]] bool may_come_and_go(std::int64_t now_ns) const {
    return is_unconfirmed() && now_ns < _now_ns + longest_doubt_ns &&
           (_suits_both || _stage == Stage::observing || _stage == Stage::collecting ||
            _stage == Stage::planning);
  }
  /// Whether the leader has plans that are better on the mean of the network before and now.
  [[nodiscard]] bool suits_both() const { return _suits_both; }
  /// Whether plans changed last, or are about to, for what comes and goes.
  [[nodiscard]] bool comes_and_goes() const { return _comes_and_goes; }
  [[nodiscard]] bool is_dismissed() const { return _is_dismissed; }
  /// Gives up an attempt that hasn't been confirmed, when nothing is open any more.
  void dismiss(std::int64_t now_ns);
  /// Notes how long a call of the plan that drifted took usually, how long when it had drifted, and
  /// how long it takes with the new plan. The pauses between trials depend on it.
  void compare(std::int64_t usual_ns, std::int64_t before_ns, std::int64_t after_ns);
  /// Begins to look whether what plans in force avoid has recovered, if it is time for that: then
  /// it returns true. @param race of which this is observed
  bool look_for_recovery(std::size_t race, std::int64_t now_ns);
  /// Begins to plan anew for a race that hasn't drifted, if it is time for that, there is time for
  /// it and it hasn't been done: then it returns true.
  bool improve(std::size_t race, std::int64_t now_ns);
  /// Returns what the attempt that goes on, or ended last, is for; after go_back() from a recovery,
  /// which wasn't one, the drift before it.
  [[nodiscard]] Purpose purpose() const { return _purpose; }
  /// Whether the plans before are tried in this call.
  [[nodiscard]] bool tries() const { return _stage == Stage::trying && _next > 0; }
  /// Goes on, since what was collected is at the leader.
  void collected();
  /// Returns what a rank agrees to.
  /// @param answer the leader's; of the stage `planning`
  /// @param suits_both the leader's, of the same stage: see suits_both()
  /// @param all_is_well of the stages `preparing`, `allocating` and `checking`
  /// @param content a hash of the new plans; of the stage `checking`
  /// @param improving_ns the leader's: what improvements have taken so far
  [[nodiscard]] ReplanRecord record(bool leads, std::int64_t answer, bool suits_both,
                                    bool all_is_well, std::uint64_t content,
                                    std::int64_t improving_ns = 0) const;
  /// Goes on with the minimum of all ranks' records. Returns false if the ranks' states differ.
  bool agree(const ReplanRecord& all);
  /// Notes how long a call takes, as agreed; the pauses between questions to the leader depend on
  /// it.
  void expect(std::int64_t call_ns);
  /// Goes on, since the new plans have arrived.
  void shared();
  /// Notes that no call may follow, and that what is open is waited for.
  void close() { _open.close(); }
  /// Returns to the table before the last change, which was worse, in the next call where that is
  /// possible. The next change has to wait twice as long.
  void go_back();

  [[nodiscard]] Stage stage() const { return _stage; }
  [[nodiscard]] std::size_t race() const { return _race; }
  /// Returns the bytes of the plans that are to be shared.
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(_size); }
  [[nodiscard]] Outcome outcome() const { return _outcome; }
  [[nodiscard]] std::uint64_t calls() const { return _calls; }

private:
  [[nodiscard]] std::int64_t hash() const;
  [[nodiscard]] std::int64_t pause_ns(std::int64_t now_ns) const;
  void note_improving(std::int64_t ns);
  void begin(Purpose purpose, Stage stage, std::size_t race, bool slower, std::int64_t now_ns);
  void drop();
  /// Lets unconfirmed attempts wait, twice as long each time.
  void rest_from_suspicions(std::int64_t now_ns);
  void follow(std::int64_t answer, bool suits_both);
  void end(Outcome outcome);

  Stage _stage = Stage::calm;
  Outcome _outcome = Outcome::none;
  Purpose _purpose = Purpose::drift;
  std::uint64_t _calls = 0;
  OpenSince _open;
  std::uint64_t _next = 0; ///< the call at which to ask the leader
  std::uint64_t _distance = least_distance, _usual_distance = least_distance;
  std::uint64_t _generation = 0; ///< changes of the table
  bool _has_ended = false;       ///< an attempt
  bool _is_prepared = false;
  std::size_t _race = 0;
  bool _slower = true, _was_slower = true;
  bool _may_recover = false; ///< plans in force avoid a part of the network that became slower
  bool _is_confirmed = true, _is_dismissed = false;
  bool _suits_both = false, _comes_and_goes = false;
  /// When an attempt that isn't confirmed may begin, and the pause after the next one that ends so.
  std::int64_t _suspects_ns = 0, _doubt_ns = least_rest_ns;
  std::uint64_t _improved = 0;   ///< races, a bit each
  std::int64_t _improved_ns = 0; ///< when that was done last
  /// What improvements took so far, as agreed, and the last one of them.
  std::int64_t _improving_ns = 0, _last_improvement_ns = 0;
  std::int64_t _now_ns = 0, _changed_ns = 0, _rest_ns = least_rest_ns;
  std::int64_t _look_ns = 0;  ///< when the next look for a recovery is due
  std::int64_t _trial_ns = 0; ///< what a trial costs; 0: not known
  std::int64_t _gain = 1;     ///< thousandths of the time that calls take less after a recovery
  std::int64_t _size = 0;
};
constexpr auto names_of(AttemptState::Outcome /*outcome*/) {
  return std::to_array<std::string_view>(
      {"open", "nothing better", "no memory", "unreadable", "adopted"});
}

} // namespace thalweg::runtime
