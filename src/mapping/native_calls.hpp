#pragma once

#include "mapping/problem.hpp"
#include "planner/native.hpp"
#include "planner/planner.hpp"

#include <string>
#include <vector>

namespace thalweg::mapping {

/// What an MPI library's own collectives are predicted to take on one placement after the other.
class NativeCalls {
public:
  /// @param problem it and its network must outlive this
  /// @param library as PlanOptions::library
  NativeCalls(const Problem& problem, std::string library);
  NativeCalls(const NativeCalls&) = delete;
  NativeCalls& operator=(const NativeCalls&) = delete;

  void add(Call call) { _calls.push_back(std::move(call)); }
  [[nodiscard]] std::size_t count() const { return _calls.size(); }
  /// Returns the seconds that all calls take a rank of the problem on average, also those that
  /// don't take part. A simulation or two of each call.
  [[nodiscard]] double seconds(const Placement& placement);

private:
  const Problem& _problem;
  planner::PlanOptions _options;
  planner::NativeModel _model; ///< by the options
  std::vector<Call> _calls;
};

/// Calls as the messages that they consist of.
struct NativeMessages {
  std::vector<Traffic> entries; ///< those of an algorithm's n-th round are of phase n
  /// Those whose ranks the library groups by hosts, and those of more rounds than phases, in which
  /// most ranks reach most others.
  std::vector<Call> others;
};

/// Returns the messages of a library's own collectives.
NativeMessages native_messages(const Problem& problem, const std::string& library);

/// Returns the problem of a program that runs without plans, with the messages of the library's own
/// collectives in its matrix instead of the calls, for a search: each round beside the program's
/// phase of its number.
/// @param library empty: the program runs with plans, and the problem stays
Problem with_native_messages(Problem problem, const std::string& library);

} // namespace thalweg::mapping
