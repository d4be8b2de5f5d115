#include "planner/by_hand.hpp"

#include "planner/judge.hpp"
#include "planner/native.hpp"
#include "planner/unknown_sizes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <tuple>

namespace thalweg::planner {
namespace {

using collective::Kind;
using collective::Rank;

/// The largest size that is predicted beside the smallest one.
constexpr Size most_predicted = Size{1} << 27;
/// The most ranks with which a table without rows gets those of each host, and not only of rank 0.
constexpr Rank every_host_listed = 256;

/// Returns the roots for which a table has rows, or gets them if it has none.
std::set<Rank> roots(const Table& table, Kind kind) {
  std::set<Rank> found;
  for (const Entry& entry : table.entries)
    if (entry.kind == kind) found.insert(entry.root);
  if (!found.empty()) return found;
  const auto ranks = static_cast<Rank>(table.placement.size());
  const bool each = collective::is_rooted(kind) && ranks <= every_host_listed;
  for (Rank root = 0; root < (each ? ranks : 1); ++root)
    if (network::first_on_host(table.placement, index(root)) == index(root)) found.insert(root);
  return found;
}

/// Returns all ranks on a rank's host.
std::vector<Rank> on_host(const network::Placement& placement, Rank rank) {
  std::vector<Rank> found;
  for (std::size_t each = 0; each < placement.size(); ++each)
    if (placement[each] == placement[index(rank)]) found.push_back(static_cast<Rank>(each));
  return found;
}

/// Returns the row for one root and sizes from that of the problem.
/// @param high up to this size
Entry make_entry(Problem problem, const Parameters& tree, Size high, const PlanOptions& options) {
  const Kind kind = problem.collective.kind;
  Entry entry;
  entry.kind = kind;
  entry.root = problem.collective.root;
  entry.min_size = problem.collective.size;
  entry.native = false;
  entry.skeleton = algorithms::make_skeleton(algorithms::find("tree"), problem, tree);
  replay(problem, entry.skeleton);
  simulator::SimulationOptions simulation;
  simulation.window = options.window;
  simulation.max_messages = 16000;
  NativeModel native(problem.network, options, {});
  const auto can_be_simulated = [&](Size size) {
    problem.collective.size = size;
    return simulator::simulated_messages(problem, entry.skeleton, simulation) <
           std::numeric_limits<std::int32_t>::max();
  };
  Size most = std::min(high, most_predicted);
  while (most > entry.min_size && !can_be_simulated(most))
    most /= 2;
  for (const Size size : {entry.min_size, most}) {
    if (!entry.times.empty() && size <= entry.times.back().size) break;
    problem.collective.size = size;
    Plan plan;
    plan.predicted = simulator::simulate(problem, entry.skeleton, simulation).time;
    plan.native = native.predict(problem);
    plan.bound = bounds::bound(problem);
    if (size == entry.min_size) set_native(entry, plan.native);
    entry.times.push_back(predicted_times(plan, size));
  }
  return entry;
}

} // namespace

void put_tree(Table& table, const network::Network& network, Kind kind, const Parameters& tree,
              Size low, Size high, const PlanOptions& options, std::optional<Rank> root) {
  if (may_hide_sizes(kind)) low = std::max<Size>(low, 1); // A tree's blocks go through ranks.
  if (low < 0 || high <= low)
    throw std::invalid_argument("sizes from " + units::size_to_text(low) + " up to below " +
                                units::size_to_text(high) +
                                " are none: give the smaller one first");
  if (!algorithms::find("tree").can_do({.kind = kind}))
    throw std::invalid_argument("a tree can't do a " + std::string(to_text(kind)));
  const auto ranks = static_cast<Rank>(table.placement.size());
  if (root && (*root < 0 || *root >= ranks))
    throw std::invalid_argument("there is no root " + std::to_string(*root) + " among " +
                                std::to_string(ranks) + " ranks");
  for (const Rank each : root ? std::set{*root} : roots(table, kind)) {
    for (const Rank sharing : root ? on_host(table.placement, each) : std::vector{each})
      table.own_rows(kind, sharing);
    Entry after = table.find(kind, each, high).value_or(Entry());
    after.kind = kind;
    after.root = each;
    after.min_size = high;
    std::erase_if(table.entries, [&](const Entry& entry) {
      return entry.kind == kind && entry.root == each && entry.min_size >= low &&
             entry.min_size <= high;
    });
    const Problem problem =
        algorithms::make_problem({.kind = kind, .ranks = ranks, .root = each, .size = low}, network,
                                 table.placement, options.library);
    table.entries.push_back(make_entry(problem, tree, high, options));
    table.entries.push_back(std::move(after));
  }
  std::ranges::sort(table.entries, {}, [](const Entry& entry) {
    return std::tuple(entry.kind, entry.root, entry.min_size);
  });
}

} // namespace thalweg::planner
