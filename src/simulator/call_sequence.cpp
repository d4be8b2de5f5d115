#include "simulator/call_sequence.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::simulator {

Posts CallSequence::next(Problem problem, const Skeleton& skeleton) {
  const CallWorkload call(problem.collective, skeleton, problem.cost.eager_limit);
  return next(std::move(problem), call);
}

Posts CallSequence::next(Problem problem, const CallWorkload& call) {
  problem.entries = std::move(_entries);
  Posts posts = simulate_posts(problem, call, Fidelity::fast, &_traffic, _window);
  const Time first = *std::ranges::min_element(posts.exits);
  _traffic.rebase(first.value());
  _entries = posts.exits;
  for (Time& entry : _entries)
    entry = entry - first;
  return posts;
}

Time time_in_a_row(const Problem& problem, const Skeleton& skeleton, int window) {
  const CallWorkload call(problem.collective, skeleton, problem.cost.eager_limit);
  CallSequence calls(window);
  Time end{}, sum{};
  for (int i = 0; i < calls_in_a_row; ++i) {
    const Posts posts = calls.next(problem, call);
    const Time last = *std::ranges::max_element(posts.exits);
    if (2 * i >= calls_in_a_row) sum = sum + (last - end);
    end = *std::ranges::max_element(calls.entries());
  }
  constexpr int counted = calls_in_a_row - calls_in_a_row / 2;
  return sum / counted;
}

} // namespace thalweg::simulator
