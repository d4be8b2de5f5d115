#pragma once

#include "runtime/adapt/attempt_state.hpp"
#include "runtime/adapt/diagnosis.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace thalweg::runtime {

/// Plans anew in a thread that makes no MPI calls.
class PlanningThread {
public:
  PlanningThread() = default;
  PlanningThread(const PlanningThread&) = delete;
  PlanningThread& operator=(const PlanningThread&) = delete;
  ~PlanningThread() { stop(); }
  /// Begins. Without memory or a thread nothing is worth it. Requires that nothing goes on.
  /// @param seen null: there was no memory for it
  void start(std::shared_ptr<const Observations> seen);
  /// Returns the bytes of a table, or what AttemptState::record() has for the leader otherwise.
  [[nodiscard]] std::int64_t answer() const;
  /// Hands out what was found. Requires that the answer isn't `busy`.
  [[nodiscard]] Replan take_result() { return std::exchange(_result, {}); }
  [[nodiscard]] const std::string& bytes() const { return _bytes; }
  /// Returns Replan::suits_both of what was found. Requires the same.
  [[nodiscard]] bool suits_both() const { return _result.suits_both; }
  /// Returns Replan::is_too_large of what was found. Requires the same.
  [[nodiscard]] bool is_too_large() const { return _result.is_too_large; }
  /// Whether it couldn't plan, for lack of memory or of a thread. Requires the same.
  [[nodiscard]] bool has_failed() const { return _has_failed; }
  /// Returns the processor time that it has spent on improvements, in nanoseconds.
  [[nodiscard]] std::int64_t improving_ns() const { return _improving_ns; }
  /// Lets nothing be worth it, soon.
  void cancel() { _is_cancelled = true; }
  /// Cancels, and waits for the candidate or the simulated call at hand.
  void stop();

private:
  void run(const Observations& seen);

  std::thread _thread;
  std::atomic<std::int64_t> _answer{AttemptState::nothing};
  std::atomic<bool> _is_cancelled{false};
  std::atomic<std::int64_t> _improving_ns{0};
  Replan _result;
  std::string _bytes;
  bool _has_failed = false;
};

} // namespace thalweg::runtime
