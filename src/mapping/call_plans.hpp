#pragma once

#include "mapping/problem.hpp"
#include "planner/judge.hpp"

#include <utility>
#include <vector>

namespace thalweg::mapping {

/// What the planner predicts of a call's plans, for one placement after the other: fast enough to
/// judge each of a mapping's finalists.
///
/// Planning for all ranks compares fifty candidates. Which of them win depends on the hosts and on
/// how many bytes go between them, hardly on the ranks inside: so a plan for one rank on each host
/// of the first placement ranks them, and only the best few are simulated on each placement.
class CallPlans {
public:
  /// @param problem its network must outlive this
  CallPlans(const Problem& problem, Call call) : _problem(&problem), _call(std::move(call)) {}

  /// Returns the seconds that the calls take a rank of the problem on average, also those that
  /// don't take part. Some milliseconds, the first time more.
  double seconds(const Placement& placement);

private:
  /// Returns the shortest predicted time of one call; zero on one host.
  Time shortest(planner::Problem problem);
  [[nodiscard]] planner::Problem on_ranks(const Placement& placement) const;
  void rank_choices(const planner::Problem& ranks);

  const Problem* _problem;
  Call _call;
  std::vector<planner::Choice> _choices; ///< the likeliest first
};

} // namespace thalweg::mapping
