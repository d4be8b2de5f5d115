#pragma once

#include "runtime/adapt/race.hpp"
#include "runtime/mpi/open_since.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace thalweg::runtime {

/// A race that something else than the plan won in an earlier run.
struct Won {
  RaceKey race;
  Candidate winner{};
};

/// The numbers that the ranks of a communicator agree on at an epoch: the minimum of each.
using EpochRecord = std::array<std::int64_t, 34>;

/// The races of a communicator, and its epochs: the calls at which its ranks agree. All ranks count
/// the same calls, and what they agree on is the same for all; so without any message they know
/// which calls agree, and on what, and how each call is executed.
///
/// The first epoch is the 24th call, further ones come 16, 32, 64, ... calls after the last one, or
/// as many as take a second, or as make agreement take 0.5 % of the time; besides, one ends each
/// trial and each round of a race, of which there is one at a time. Without a race to look at there
/// is no epoch.
///
/// Agreement takes a rank's time where it waits for ranks that it has run ahead of, as the root of
/// broadcasts does. So where it takes too much, the ranks wait for it later, after up to 512 calls.
class Races {
public:
  static constexpr std::size_t most_races = 64;
  static constexpr std::uint64_t least_patience = OpenSince::least_patience, most_patience = 512;
  /// @param won what begins as the incumbent since it won before, if it is a candidate
  /// @param has_clocks whether the ranks' clocks were compared; the same on all ranks
  explicit Races(std::vector<Won> won = {}, bool has_clocks = true);

  /// Counts a blocking call of the communicator. Returns whether its ranks begin to agree in it.
  /// Requires that they don't agree already.
  bool enter() {
    if (++_calls < _next || !look()) return false;
    _begun = _calls;
    _races[_at].begin_agreement();
    return true;
  }
  /// Counts a blocking call while the ranks agree.
  void enter_agreeing() { ++_calls; }
  /// Returns the race for a planned call, or null if it hasn't been added.
  Race* find(const RaceKey& key);
  /// Adds a race that isn't known. Where there are most_races, it replaces one whose calls haven't
  /// come for long; returns null if there is none such, or none may be replaced. It begins with
  /// what won the most similar race before, if that was of the same class of sizes.
  /// @param weight roughly what such a call takes: equal on all ranks
  Race* add(const RaceKey& key, std::int64_t weight, Candidates candidates, bool may_replace);
  /// Counts a call that was executed as Race::next() said.
  void count(Race& race, CallTimes ticks) {
    race.count(ticks);
    if (race.is_complete()) _next = 0;
  }

  /// Returns what this rank agrees to, in a call that enter() said so of.
  /// @param elapsed_ns since the last agreement began, @param cost_ns of that one
  /// @param facts of the race at(), without what is known of its calls between epochs
  template <class ToNs>
  EpochRecord record(collective::Rank rank, std::int64_t elapsed_ns, std::int64_t cost_ns,
                     const RaceFacts& facts, const ToNs& to_ns) const {
    std::array<Share, Race::most_shares> shares{};
    at().shares(rank, shares, to_ns);
    RaceFacts own = facts;
    own.mean_ns = to_ns(at().mean_ticks()) - to_ns(0);
    own.calm_ns = to_ns(at().calm_ticks()) - to_ns(0);
    own.between_permille = at().between_permille();
    return record(elapsed_ns, cost_ns, own, shares);
  }
  /// Returns the race that the open agreement is about.
  [[nodiscard]] const Race& at() const { return _races[_at]; }
  /// Goes on with the minimum of all ranks' records. Returns whether the ranks' states were equal;
  /// if not, all calls are executed as planned from now on.
  bool agree(const EpochRecord& all);

  /// Returns the number of a race whose plan has drifted, if there is one.
  [[nodiscard]] std::optional<std::size_t> drifted() const;
  /// What the plan of a race takes now is usual from now on.
  void settle_watch(std::size_t race) { _races[race].settle_watch(); }
  /// Begins no further epoch before so much time has passed since the last one, roughly; 0: the
  /// next one comes soon. Requires that the ranks don't agree now.
  void postpone(std::int64_t pause_ns);
  /// Begins races anew, since plans have changed, and gives up the one that goes on. Of those that
  /// aren't meant and another one than the plan has won, only what is usual is forgotten. Requires
  /// that the ranks don't agree now.
  /// @param compares whether the new plans are to be compared with the ones before
  /// @param is_meant which races have other plans; the same on all ranks. Empty: all, since the
  /// network has changed
  void restart(bool compares, const std::function<bool(const RaceKey&)>& is_meant = {});
  /// Lets a race's plan be compared with another time than that of its latest look before
  /// restart().
  void compare_plan(std::size_t race, std::int64_t ns) { _races[race].compare_plan(ns); }
  /// Returns the race that was agreed on last, if it is known.
  [[nodiscard]] std::optional<std::size_t> looked_at() const { return _looked_at; }

  [[nodiscard]] const std::vector<Race>& all() const { return _races; }
  /// Returns the first of the races that were replaced after a verdict, for reports.
  [[nodiscard]] const std::vector<Race>& replaced() const { return _replaced; }
  /// Returns how many further ones were, by what each ended with.
  [[nodiscard]] const ByCandidate<std::uint64_t>& left_out() const { return _left_out; }
  [[nodiscard]] std::uint64_t calls() const { return _calls; }
  /// Returns the calls after which the ranks wait for an agreement that has begun.
  /// @param waits_for_all whether all ranks are known to have entered a call so much later
  [[nodiscard]] std::uint64_t patience(bool waits_for_all) const {
    return waits_for_all ? _patience / least_patience : _patience;
  }
  [[nodiscard]] std::uint64_t epochs() const { return _epochs; }
  /// Returns the agreed time from one call to the next, of all shapes.
  [[nodiscard]] std::int64_t call_ns() const { return _call_ns; }
  /// Returns the agreed time from the first agreement to the last one.
  [[nodiscard]] std::int64_t elapsed_ns() const { return _elapsed_ns; }

private:
  static constexpr std::size_t none = most_races, most_replaced = 256;
  bool look();
  [[nodiscard]] std::size_t longest_unused() const;
  [[nodiscard]] Candidate begins_with(const RaceKey& key, Candidates candidates) const;
  void keep(const Race& race);
  [[nodiscard]] std::size_t most_urgent(bool due) const;
  [[nodiscard]] std::size_t suspicious() const;
  [[nodiscard]] EpochRecord record(std::int64_t elapsed_ns, std::int64_t cost_ns,
                                   const RaceFacts& facts,
                                   const std::array<Share, Race::most_shares>& shares) const;
  [[nodiscard]] std::int64_t hash() const;
  void schedule(std::int64_t elapsed_ns);

  std::vector<Won> _won; ///< with room for _most_won from the beginning
  std::size_t _most_won, _kept = 0;
  bool _has_clocks;
  std::vector<Race> _races;                        ///< with room for the most from the beginning
  std::array<std::uint64_t, most_races> _called{}; ///< the call in which each was found last
  std::vector<Race> _replaced;
  ByCandidate<std::uint64_t> _left_out; ///< of those, by winner
  std::size_t _latest = 0;              ///< found last
  std::size_t _at = none;               ///< what is agreed on, or goes on
  std::uint64_t _calls = 0, _epochs = 0;
  std::uint64_t _next;                 ///< the call at which to look
  std::uint64_t _begun = 0, _last = 0; ///< the calls in which the latest agreements began
  std::uint64_t _distance, _patience = least_patience;
  std::int64_t _patience_ns = 0; ///< what _patience calls take, above the least
  std::optional<std::size_t> _looked_at;
  std::int64_t _cost_ns = 0; ///< of an agreement; negative: the next one doesn't count
  std::int64_t _elapsed_ns = 0, _call_ns = 1;
};

} // namespace thalweg::runtime
