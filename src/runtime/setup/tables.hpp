#pragma once

#include "planner/table.hpp"
#include "runtime/choose/worth.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace thalweg::runtime {

/// A plan table that this process knows.
struct KnownTable {
  std::shared_ptr<const planner::Table> table; ///< null: none
  std::uint64_t checksum = 0; ///< of a table that a rank made; those of the plan file are the same
};

/// The plan tables that this process knows: those of the plan file, and those for placements that
/// were planned for since, of which the one that nobody has asked for the longest is dropped where
/// they are too many. Ranks may know different ones; communicators keep theirs. Thread-safe.
class Tables {
public:
  explicit Tables(std::int64_t start_ns) : _budget(start_ns) {}

  /// Returns the table for this placement, of the plan file or made since, if there is one.
  KnownTable known(const network::Placement& placement, const planner::PlanFile& plan);
  /// Makes a table for the plan's network by the quick estimate and returns its bytes; empty if
  /// that failed, with a line on standard error.
  static std::string make(const network::Placement& placement, const planner::PlanFile& plan);
  /// Keeps a table that a rank made and shared, in place of another for this placement.
  /// @param planning_ns what it took
  std::shared_ptr<const planner::Table> add(const network::Placement& placement,
                                            const std::string& bytes, std::int64_t planning_ns);
  [[nodiscard]] PlanningBudget budget();
  /// Counts time spent on a plan that isn't in a table.
  void spend(std::int64_t planning_ns);

  /// What all tables that were made may have in bytes, of which the memory for one takes about ten
  /// times as many; the latest is kept in any case.
  static constexpr std::size_t most_bytes = std::size_t{2} << 20;

private:
  struct Made {
    KnownTable known;
    std::size_t bytes = 0;
  };

  std::mutex _mutex;
  std::vector<Made> _made; ///< the one that was asked for last is the last
  std::size_t _bytes = 0;  ///< of all of them
  PlanningBudget _budget;
};

} // namespace thalweg::runtime
