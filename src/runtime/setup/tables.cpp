#include "runtime/setup/tables.hpp"

#include "planner/bytes.hpp"
#include "runtime/mpi/process.hpp"

#include <algorithm>
#include <exception>
#include <span>

namespace thalweg::runtime {

KnownTable Tables::known(const network::Placement& placement, const planner::PlanFile& plan) {
  for (const planner::Table& table : plan.tables)
    if (table.placement == placement) return {{std::shared_ptr<void>(), &table}};
  const std::lock_guard lock(_mutex);
  const auto found = std::ranges::find_if(
      _made, [&](const Made& made) { return made.known.table->placement == placement; });
  if (found == _made.end()) return {};
  std::rotate(found, found + 1, _made.end());
  return _made.back().known;
}

std::string Tables::make(const network::Placement& placement, const planner::PlanFile& plan) {
  try {
    planner::PlanOptions options;
    options.library = plan.library;
    options.threads = 1; // The program's own have the processors.
    const auto made = planner::to_bytes(planner::quick_table(plan.network, placement, options));
    return {reinterpret_cast<const char*>(made.data()), made.size()};
  } catch (const std::exception& error) {
    say(std::string("can't plan for a communicator: ") + error.what());
    return {};
  }
}

std::shared_ptr<const planner::Table> Tables::add(const network::Placement& placement,
                                                  const std::string& bytes,
                                                  std::int64_t planning_ns) {
  auto table = std::make_shared<planner::Table>();
  if (!bytes.empty()) *table = planner::table_from_bytes(std::as_bytes(std::span(bytes)));
  table->placement = placement;
  const std::lock_guard lock(_mutex);
  if (planning_ns > 0) _budget.spend(static_cast<collective::Rank>(placement.size()), planning_ns);
  std::erase_if(_made, [&](const Made& made) {
    const bool is_same = made.known.table->placement == placement;
    if (is_same) _bytes -= made.bytes;
    return is_same;
  });
  _made.push_back({{table, planner::checksum(std::as_bytes(std::span(bytes)))}, bytes.size()});
  _bytes += bytes.size();
  while (_bytes > most_bytes && _made.size() > 1) {
    _bytes -= _made.front().bytes;
    _made.erase(_made.begin());
  }
  return table;
}

void Tables::spend(std::int64_t planning_ns) {
  const std::lock_guard lock(_mutex);
  _budget.spend(planning_ns);
}

PlanningBudget Tables::budget() {
  const std::lock_guard lock(_mutex);
  return _budget;
}

} // namespace thalweg::runtime
