#pragma once

#include "collective/collective.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

/// An MPI library of simulated ranks, of which one at a time runs: what the code that adapts plans
/// calls of it, with clocks that the simulation sets. It replaces runtime::native, the clock and
/// the planning thread in programs that are linked with it.
namespace thalweg::test {

class SimulatedMpi {
public:
  /// @param latency_s of a reduction or a broadcast of few bytes, once all have begun it
  /// @param planning_s what planning takes; none: there is no memory for it
  SimulatedMpi(std::size_t ranks, double latency_s, std::optional<double> planning_s);
  SimulatedMpi(const SimulatedMpi&) = delete;
  SimulatedMpi& operator=(const SimulatedMpi&) = delete;
  ~SimulatedMpi();

  /// From now on everything that is called is called by this rank.
  void run_as(collective::Rank rank) { _current = static_cast<std::size_t>(rank); }
  /// The true time of a rank.
  double& time(collective::Rank rank) { return _times[static_cast<std::size_t>(rank)]; }
  /// What a rank's clock shows beyond the true time.
  std::int64_t& offset_ns(collective::Rank rank) {
    return _offsets_ns[static_cast<std::size_t>(rank)];
  }
  /// Returns what the clock of the current rank shows.
  [[nodiscard]] std::int64_t clock_ns() const;
  [[nodiscard]] std::optional<double> planning_s() const { return _planning_s; }

  /// Begins the current rank's next nonblocking collective. Returns its number.
  /// @param reduces combines the ranks' data; null: all get rank 0's
  std::size_t begin(const void* own, void* result, std::size_t bytes,
                    std::function<void(std::byte* sum, const std::byte* other)> reduces);
  /// Waits for one. Throws std::logic_error if not all ranks have begun it, or not alike.
  void wait(std::size_t number);

private:
  struct Operation {
    std::vector<std::vector<std::byte>> data; ///< by rank that has begun
    std::vector<void*> results;
    std::function<void(std::byte*, const std::byte*)> reduces;
    double last_s = 0; ///< when the last rank began
  };
  std::size_t _current = 0;
  double _latency_s;
  std::optional<double> _planning_s;
  std::vector<double> _times;
  std::vector<std::int64_t> _offsets_ns;
  std::vector<std::size_t> _begun; ///< operations, by rank
  std::vector<Operation> _operations;
};

} // namespace thalweg::test
