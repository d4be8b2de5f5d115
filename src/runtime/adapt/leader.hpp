#pragma once

#include "runtime/adapt/attempt_state.hpp"
#include "runtime/adapt/call_observer.hpp"
#include "runtime/adapt/change_report.hpp"
#include "runtime/adapt/planning_thread.hpp"
#include "runtime/adapt/races.hpp"
#include "runtime/choose/chooser.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace thalweg::runtime {

/// What only the leader of a communicator, its rank 0, does in an attempt: it knows the network as
/// it has become, plans for it in a thread of its own, and keeps what came of each attempt. It
/// exchanges no messages.
class Leader {
public:
  /// The most attempts that are kept, unless more have changed plans, and the most of those.
  static constexpr std::size_t most_attempts = 64, most_changes = 1024;

  /// @param state of the ranks, and @param network in force, which both must outlive it
  Leader(const AttemptState& state, const Network& network, std::string library,
         network::Placement placement);

  /// Allocates what is needed later. Throws std::bad_alloc.
  /// @param sums the numbers that are collected
  void make_room(std::size_t sums);
  /// Where the sums of all ranks' observations are collected; empty before make_room().
  [[nodiscard]] std::span<std::uint64_t> sums() { return _sums; }

  /// Notes that an attempt has begun for a race.
  void begin_attempt(const Races& races, std::size_t race);
  /// Notes what calls take with the plans that the last attempt led to.
  void compare(const Race& race);
  /// Forgets the attempt that goes on, since calls take as usual again, and cancels its planning.
  void dismiss();
  /// Notes how the last attempt ended, if it did so in the agreement before. Returns what is to be
  /// said to the user; empty: nothing.
  std::string end_attempt();
  /// Notes that the new plans hold from this call on, and so does the network they were made for.
  void adopt();
  /// Notes that the plans before hold again from this call on.
  void go_back();

  /// Copies what this rank knows itself, for planning.
  void observe(const Races& races, const Chooser& chooser, const CallObserver& observer);
  /// Begins to plan for what observe() and sums() have.
  void start_planning();
  /// Returns what AttemptState::record() has for the leader.
  [[nodiscard]] std::int64_t answer() const {
    return _thread != nullptr ? _thread->answer() : AttemptState::nothing;
  }
  /// Whether the new plans are better on the mean of the network before and now, if the answer is
  /// their number.
  [[nodiscard]] bool suits_both() const { return answer() > 0 && _thread->suits_both(); }
  /// Returns the processor time that was spent on improvements, in nanoseconds.
  [[nodiscard]] std::int64_t improving_ns() const {
    return _thread != nullptr ? _thread->improving_ns() : 0;
  }
  /// Returns the new plans, a table's bytes. Requires that the answer is their number.
  [[nodiscard]] const std::string& bytes() const { return _thread->bytes(); }
  /// Lets what is being planned end soon, without new plans.
  void cancel() {
    if (_thread != nullptr) _thread->cancel();
  }
  /// Does the same, and waits for the thread. Nothing may be planned any more.
  void end() { _thread.reset(); }

  [[nodiscard]] std::span<const Attempt> attempts() const { return _attempts; }
  /// Returns the network as it is known by now.
  [[nodiscard]] const Network& network() const { return _changed ? *_changed : _plan_network; }

private:
  [[nodiscard]] std::shared_ptr<Observations> observed(const Races& races, const Chooser& chooser,
                                                       const CallObserver& observer) const;
  void forget_attempt();
  void take_findings(Attempt& attempt);
  void note_change();

  const AttemptState& _state;
  const Network& _plan_network;
  /// As the network is known to be, was before, and will be with the next plans.
  std::optional<Network> _changed, _before, _next;
  std::string _library;
  network::Placement _placement;
  std::vector<std::uint64_t> _sums;
  std::unique_ptr<PlanningThread> _thread;
  std::shared_ptr<Observations> _observations;
  std::vector<Attempt> _attempts;
  bool _said_failure = false;
};

} // namespace thalweg::runtime
