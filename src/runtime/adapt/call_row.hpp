#pragma once

#include "runtime/adapt/diagnosis.hpp"
#include "simulator/posts.hpp"

#include <algorithm>
#include <vector>

namespace thalweg::runtime {

/// A program's latest planned calls, simulated in a row: a rank enters a call when it has left the
/// one before, so that ranks come as late as the calls before make them, and its messages pass
/// ports that those of the calls before leave.
class CallRow {
public:
  /// The latest calls; some of Observations::shape if that isn't among them. It is empty if the
  /// table has no plan for that shape. `seen` must outlive it.
  explicit CallRow(const Observations& seen) : CallRow(seen, seen.shape) {}
  /// The same of another shape.
  CallRow(const Observations& seen, const CalledShape& shape);

  [[nodiscard]] bool empty() const { return _calls.empty(); }
  [[nodiscard]] std::size_t size() const { return _calls.size(); }
  /// Simulates the last `most` calls. @param visit gets the posts of each call of the shape in the
  /// second half, and the seconds from the end of the call before to its end
  template <class Visit>
  void simulate(const Network& network, std::size_t most, const Visit& visit) const {
    simulate_all(network, most, nullptr,
                 [&](const Call& call, const simulator::Posts& posts, double seconds) {
                   if (call.is_meant) visit(posts, seconds);
                 });
  }
  /// Returns the seconds that a call takes on average, of all shapes in the second half.
  /// @param plan of the calls of the shape
  [[nodiscard]] double seconds_with(const algorithms::Skeleton& plan, const Network& network) const;

private:
  struct Call {
    collective::Collective collective;
    const algorithms::Skeleton* plan = nullptr; ///< in force
    bool is_meant = false;                      ///< it is of the shape
  };
  bool add(const CalledShape& called, const CalledShape& shape);

  template <class Visit>
  void simulate_all(const Network& network, std::size_t most, const algorithms::Skeleton* plan,
                    const Visit& visit) const {
    const std::size_t begin = _calls.size() - std::min(most, _calls.size());
    std::vector<units::Time> entries;
    simulator::Traffic traffic;
    double last = 0; // when the call before ended
    for (std::size_t i = begin; i < _calls.size(); ++i) {
      const Call& call = _calls[i];
      algorithms::Problem problem =
          algorithms::make_problem(call.collective, network, _seen.placement, _seen.library);
      problem.entries = std::move(entries);
      simulator::Posts posts =
          simulator::simulate_posts(problem, call.is_meant && plan != nullptr ? *plan : *call.plan,
                                    simulator::Fidelity::fast, &traffic);
      const auto [first, end] = std::ranges::minmax(posts.exits);
      if (2 * i >= begin + _calls.size()) visit(call, posts, end.value() - last);
      last = end.value() - first.value();
      traffic.rebase(first.value());
      entries = std::move(posts.exits);
      for (units::Time& entry : entries)
        entry = entry - first;
    }
  }

  const Observations& _seen;
  std::vector<Call> _calls;
};

} // namespace thalweg::runtime
