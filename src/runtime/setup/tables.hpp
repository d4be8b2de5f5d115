#pragma once

#include "planner/table.hpp"
#include "runtime/choose/worth.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace thalweg::runtime {

struct Runtime;

/// A plan table that this process knows.
struct KnownTable {
  std::shared_ptr<const planner::Table> table; ///< null: none
  std::uint64_t checksum = 0; ///< of a table that a rank made; those of the plan file are the same
};

/// The plan tables that this process knows: those of the plan file, and one for each placement that
/// was planned for since. Thread-safe.
class Tables {
public:
  explicit Tables(std::int64_t start_ns) : _budget(start_ns) {}

  /// Returns the table for this placement, if there is one.
  KnownTable known(const network::Placement& placement, const Runtime& runtime);
  /// Makes a table by the quick estimate and returns its bytes; empty if that failed, with a line
  /// on standard error.
  static std::string make(const network::Placement& placement, const Runtime& runtime);
  /// Keeps a table that a rank made and shared, in place of another for this placement.
  /// @param planning_ns what it took
  std::shared_ptr<const planner::Table> add(const network::Placement& placement,
                                            const std::string& bytes, std::int64_t planning_ns);
  [[nodiscard]] PlanningBudget budget();
  /// Counts time spent on a plan that isn't in a table.
  void spend(std::int64_t planning_ns);

private:
  std::mutex _mutex;
  std::vector<KnownTable> _made;
  PlanningBudget _budget;
};

} // namespace thalweg::runtime
