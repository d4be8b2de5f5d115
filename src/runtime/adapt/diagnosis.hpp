#pragma once

#include "planner/table.hpp"
#include "runtime/adapt/attempt_state.hpp"
#include "runtime/adapt/causes.hpp"
#include "runtime/adapt/race.hpp"
#include "runtime/observe/pair_times.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

/// What the leader does with the ranks' observations: finds out what changed, and plans for that.
namespace thalweg::runtime {

/// A shape of call that a program makes.
struct CalledShape {
  RaceKey key;
  units::Size size = 0; ///< of such a call
  std::uint64_t calls = 0;
};

/// A call in the order in which a program makes them.
struct RowedCall {
  RaceKey key;
  units::Size size = 0;
  bool is_planned = false; ///< else the library's own algorithm executed it
};

/// What ranks observed of their calls. All is copied, so that a thread may work on it.
struct Observations {
  Network network; ///< that is in force
  std::string library;
  network::Placement placement;
  planner::Table table;      ///< that is in force
  std::vector<HostId> hosts; ///< that have ranks
  CalledShape shape;         ///< whose plan drifted, or is to be improved
  std::int64_t cost_ns = 0;  ///< of its calls now
  std::int64_t usual_ns = 0; ///< before; 0: never as predicted
  std::vector<CalledShape> others;
  std::vector<RowedCall> row; ///< the latest calls, in their order
  /// Before the plans in force, if these were made for a network that had changed.
  std::optional<Network> unimpaired;
  /// Recovery: it is only looked whether the network is as it was then, since calls take as long as
  /// before. Improvement: nothing drifted, and a plan is to be found that suits the latest calls
  /// better.
  Purpose purpose = Purpose::drift;
  /// The messages of that shape since then, by sending and receiving host, and class: size() of
  /// `hosts`, squared, times PairTimes::classes.
  std::vector<observe::PairTimes> since;

  [[nodiscard]] collective::Collective collective_of(const RaceKey& key, units::Size size) const {
    return {.kind = key.kind,
            .ranks = static_cast<collective::Rank>(placement.size()),
            .root = key.root,
            .size = size};
  }
};

/// A plan that replaces another one.
struct PlanChange {
  RaceKey key;
  units::Size size = 0;                     ///< that was planned for
  std::string before, after;                ///< algorithms
  std::int64_t before_ns = 0, after_ns = 0; ///< predicted on the changed network
};

/// What follows from the observations.
struct Replan {
  bool is_explained = false;
  bool is_too_large = false; ///< it isn't, since one call has too many messages to simulate
  std::vector<Cause> causes; ///< none, if it is explained: the network is as it was
  Quantity quantity{};
  std::vector<PlanChange> changes; ///< none: the plans in force are as good
  Network network;                 ///< as it is taken to be now
  planner::Table table;            ///< new rows only: one for the class of sizes of each change
  bool is_recovery = false;        ///< that was looked for
  /// Whether the new plans are also better on the mean of this network and the one before.
  bool suits_both = false;
  [[nodiscard]] bool is_worth_it() const { return is_recovery || !changes.empty(); }
};

/// Explains the observations (explanation.hpp), and makes new plans for the program's shapes of
/// call where these are predicted to be at least 5 % faster on the changed network; and says
/// whether they are so, too, if the network is half of the time as it was. Where nothing drifted,
/// it only makes one for the shape that is to be improved. The plan of a rooted collective, whose
/// ranks may be in several calls at a time, is the one with which the latest calls in a row take
/// least; others are planned by themselves. Deterministic. Takes as long as planning a few
/// problems, and some hundred simulations.
/// @param is_cancelled asked between simulated calls, and by the planner between candidates; then
/// nothing is found, nor a part of it
Replan replan(const Observations& seen, const std::atomic<bool>& is_cancelled);

/// Replaces the plan of one class of sizes in a table, whose rows stay ordered.
void put_plan(planner::Table& table, const RaceKey& key, const planner::Entry& entry);

/// Replaces the plans that Replan::table has others for.
void put_plans(planner::Table& table, const planner::Table& changes);

} // namespace thalweg::runtime
