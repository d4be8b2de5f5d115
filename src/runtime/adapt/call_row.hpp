#pragma once

#include "algorithms/cache.hpp"
#include "runtime/adapt/diagnosis.hpp"
#include "simulator/call_sequence.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

namespace thalweg::runtime {

/// How long calls take.
struct CallSeconds {
  double call = 0;     ///< one of a shape, on average
  double of_shape = 0; ///< all of the shape
  double all = 0;      ///< all, and those of other shapes
};

/// A program's latest calls, simulated in a row: a rank enters a call when it has left the one
/// before, so that ranks come as late as the calls before make them, and its messages pass ports
/// that those of the calls before leave. Native calls are simulated as the library's own algorithm:
/// a gather keeps its root from running ahead in the broadcasts around it.
class CallRow {
public:
  /// The most messages of a row: to simulate them takes about a second, and 100 MB; what is kept of
  /// calls from one simulation to the next, 40 MB more if no two are alike.
  static constexpr std::int64_t most_messages = 1 << 18;
  /// The latest calls, as many as have no more than most_messages; some of Observations::shape if
  /// that isn't among them. It is empty if the table has no plan for that shape.
  /// @param is_cancelled asked before each call is made or simulated: then nothing more is
  /// Both must outlive it.
  CallRow(const Observations& seen, const std::atomic<bool>& is_cancelled)
      : CallRow(seen, seen.shape, is_cancelled) {}
  /// The same of another shape.
  CallRow(const Observations& seen, const CalledShape& shape,
          const std::atomic<bool>& is_cancelled);

  [[nodiscard]] bool empty() const { return _calls.empty(); }
  /// Whether it is empty since one call has more than most_messages.
  [[nodiscard]] bool is_too_large() const { return _is_too_large; }
  /// Returns the number of planned calls.
  [[nodiscard]] std::size_t size() const { return _planned.size(); }
  /// Simulates the last `most` planned calls, and the native ones between.
  /// @param visit gets the posts of each call of the shape in the second half, and the seconds that
  /// it takes as Race has it: to its end from that of the last one of the shape, or from when it
  /// began if that is later; returns whether to go on
  template <class Visit>
  void simulate(const Network& network, std::size_t most, const Visit& visit) const {
    const auto later = std::ranges::find_if(_calls.rbegin(), _calls.rend(), &Call::is_meant);
    simulate_all(network, most, index(_calls.rend() - later), nullptr,
                 [&](const Call& call, const simulator::Posts& posts, const Taken& taken) {
                   return !call.is_meant || visit(posts, taken.call);
                 });
  }
  /// Returns what the calls in the second half take. @param plan of the shape's class of sizes
  [[nodiscard]] CallSeconds seconds_with(const algorithms::Skeleton& plan,
                                         const Network& network) const;

private:
  struct Call {
    collective::Collective collective;
    const algorithms::Skeleton* plan = nullptr;        ///< in force, or what the library does
    bool is_meant = false;                             ///< it is a planned one of the shape
    bool is_of_class = false;                          ///< the shape's plan is its own, too
    std::int64_t messages = 0;                         ///< roughly
    const simulator::CallWorkload* workload = nullptr; ///< of `plan`; null: cancelled
  };
  /// The workloads of calls: those that are alike have one.
  class Workloads {
  public:
    /// Returns one whose address stays. `plan` must outlive this.
    const simulator::CallWorkload& of(const collective::Collective& collective,
                                      const algorithms::Skeleton& plan, units::Size eager_limit);

  private:
    struct Known {
      collective::Collective collective;
      const algorithms::Skeleton* plan;
      simulator::CallWorkload workload;
    };
    std::deque<Known> _known;
  };
  /// What the library does in a call.
  struct Native {
    RowedCall call;
    collective::Collective collective;
    algorithms::Skeleton skeleton;
  };
  struct Taken {
    double call = 0;  ///< seconds, as Race has them
    double after = 0; ///< from the end of the call before to the end
  };
  void add(const RowedCall& called, const CalledShape& shape);
  void add(Call call, bool is_planned);
  /// Adds some of the shape, instead of the latest calls.
  void add_likely_calls(const CalledShape& shape);
  void drop_first_calls();
  void find_workloads();
  /// Returns the plan of a call; null: none.
  const planner::Entry* row_of(const RowedCall& called);
  const Native& native_of(const RowedCall& called);
  static double entry_of(const simulator::CallSequence& calls, collective::Rank rank) {
    return calls.entries().empty() ? 0 : calls.entries()[index(rank)].value();
  }

  template <class Visit>
  void simulate_all(const Network& network, std::size_t most, std::size_t call_end,
                    const algorithms::Skeleton* plan, const Visit& visit) const {
    if (empty()) return;
    const std::size_t simulated = std::min(most, size());
    const std::size_t begin = _planned[size() - simulated];
    const std::size_t counted = _planned[size() - (simulated + 1) / 2];
    simulator::CallSequence calls;
    Workloads others; // with another plan
    algorithms::Cache cache;
    algorithms::Problem problem =
        algorithms::make_problem({}, network, _seen.placement, _seen.library);
    problem.cache = &cache;
    double last = 0, last_of_shape = 0; // when the call before, and of the shape, ended
    for (std::size_t i = begin; i < call_end && !_is_cancelled; ++i) {
      const Call& call = _calls[i];
      if (call.workload == nullptr) return;
      const bool begins_at_root = collective::begins_at_root(call.collective.kind);
      const double began = begins_at_root ? entry_of(calls, call.collective.root) : last;
      problem.collective = call.collective;
      const simulator::Posts posts =
          calls.next(problem, call.is_of_class && plan != nullptr
                                  ? others.of(call.collective, *plan, problem.cost.eager_limit)
                                  : *call.workload);
      const auto [first, end] = std::ranges::minmax(posts.exits);
      if (i >= counted &&
          !visit(call, posts, {end.value() - std::max(began, last_of_shape), end.value() - last}))
        return;
      last = end.value() - first.value();
      last_of_shape = (call.is_meant ? end.value() : last_of_shape) - first.value();
    }
  }

  const Observations& _seen;
  const std::atomic<bool>& _is_cancelled;
  bool _is_too_large = false;
  std::vector<Call> _calls;
  std::vector<std::size_t> _planned;                        ///< positions of the planned ones
  std::deque<Native> _natives;                              ///< whose addresses stay
  std::vector<std::shared_ptr<const planner::Entry>> _rows; ///< once each
  Workloads _workloads;
};

} // namespace thalweg::runtime
