#pragma once

#include "mapping/problem.hpp"
#include "planner/judge.hpp"

#include <map>
#include <utility>
#include <vector>

namespace thalweg::mapping {

/// What the planner predicts of a call's plans, for one placement after the other: fast enough to
/// judge each of a mapping's finalists.
///
/// To plan for all ranks means to compare fifty candidates. Which of them win depends on the hosts
/// and on how many bytes go between them, hardly on the ranks inside. So a plan for one rank on
/// each host of the first placement ranks them, and only the best few are simulated on each
/// placement, none any more once one is near the proven bound.
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
  [[nodiscard]] planner::Problem on_ranks(const Placement& placement) const;
  void rank_choices(const planner::Problem& ranks);
  Time bound(const planner::Problem& ranks);
  /// Returns the shortest predicted time of one call.
  Time shortest(planner::Problem& ranks);

  const Problem* _problem;
  Call _call;
  double _weight;                        ///< calls, by the share of ranks that take part
  std::vector<planner::Choice> _choices; ///< the likeliest first
  std::map<Placement, Time> _bounds;     ///< by what they depend on
};

} // namespace thalweg::mapping
