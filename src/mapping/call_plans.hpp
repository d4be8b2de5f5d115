#pragma once

#include "mapping/problem.hpp"
#include "planner/judge.hpp"

#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace thalweg::mapping {

/// Returns a call as a problem of the planner. The mapping's network must outlive it.
planner::Problem on_ranks(const Problem& problem, const Call& call, const Placement& placement);

/// Returns how often a rank makes a call on average, also those that don't take part.
double calls_of_a_rank(const Problem& problem, const Call& call);

/// What the planner predicts of a call's plans, for one placement after the other: fast enough to
/// judge each of a mapping's finalists.
///
/// To plan means to compare some fifty candidates. It is done for the first placement, and its best
/// few are simulated on each: none any more once one is near the proven bound. A placement on which
/// they end farther from the bound than on another one is planned by itself. What wins for a small
/// call depends on the hosts and hardly on the ranks inside, so one rank on each host is planned
/// for first then, which takes a tenth of the time.
class CallPlans {
public:
  /// @param problem its network must outlive this
  CallPlans(const Problem& problem, Call call);

  /// Returns the seconds that the calls take a rank of the problem on average, also those that
  /// don't take part. A fraction of a millisecond to a few; the first time some more.
  double seconds(const Placement& placement);
  /// Returns a lower limit of seconds(), within a millisecond or two; at once for another placement
  /// with as many ranks on each host.
  double least_seconds(const Placement& placement);

private:
  /// Plans and adds the best few choices to those that are compared.
  /// @param problem the ranks, or one on each of their hosts
  Time plan(const planner::Problem& problem, const planner::Problem& ranks);
  Time compare(const planner::Problem& ranks);
  Time bound(const planner::Problem& ranks);
  /// Returns the shortest predicted time of one call.
  Time shortest(planner::Problem& ranks);

  const Problem* _problem;
  Call _call;
  double _weight; ///< calls of a rank
  std::vector<planner::Choice> _choices;
  double _nearest = std::numeric_limits<double>::infinity(); ///< to the bound, in times of it
  std::map<Placement, Time> _bounds;                         ///< by what they depend on
};

} // namespace thalweg::mapping
