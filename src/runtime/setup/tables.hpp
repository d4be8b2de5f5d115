#pragma once

#include "planner/table.hpp"
#include "runtime/choose/worth.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace thalweg::runtime {

struct Runtime;

/// The plan tables that this process knows: those of the plan file, and one for each placement that
/// was planned for since. Thread-safe.
class Tables {
public:
  explicit Tables(std::int64_t start_ns) : _budget(start_ns) {}

  /// Returns null if there is none for this placement.
  std::shared_ptr<const planner::Table> known(const network::Placement& placement,
                                              const Runtime& runtime);
  /// Makes a table by the quick estimate and returns its bytes; empty if that failed, with a line
  /// on standard error.
  static std::string make(const network::Placement& placement, const Runtime& runtime);
  /// Keeps a table that a rank made and shared.
  /// @param planning_ns what it took
  std::shared_ptr<const planner::Table> add(const network::Placement& placement,
                                            const std::string& bytes, std::int64_t planning_ns);
  [[nodiscard]] PlanningBudget budget();
  /// Counts time spent on a plan that isn't in a table.
  void spend(std::int64_t planning_ns);

private:
  std::mutex _mutex;
  std::vector<std::shared_ptr<const planner::Table>> _made;
  PlanningBudget _budget;
};

} // namespace thalweg::runtime
