#include "simulator/call_sequence.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::simulator {

Posts CallSequence::next(Problem problem, const Skeleton& skeleton) {
  problem.entries = std::move(_entries);
  Posts posts = simulate_posts(problem, skeleton, Fidelity::fast, &_traffic);
  const Time first = *std::ranges::min_element(posts.exits);
  _traffic.rebase(first.value());
  _entries = posts.exits;
  for (Time& entry : _entries)
    entry = entry - first;
  return posts;
}

Time time_in_a_row(const Problem& problem, const Skeleton& skeleton) {
  CallSequence calls;
  Time end{}, sum{};
  for (int call = 0; call < calls_in_a_row; ++call) {
    const Posts posts = calls.next(problem, skeleton);
    const Time last = *std::ranges::max_element(posts.exits);
    if (2 * call >= calls_in_a_row) sum = sum + (last - end);
    end = *std::ranges::max_element(calls.entries());
  }
  return sum / (calls_in_a_row - calls_in_a_row / 2);
}

} // namespace thalweg::simulator
