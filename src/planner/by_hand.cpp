#include "planner/by_hand.hpp"

#include "planner/judge.hpp"
#include "planner/native.hpp"
#include "planner/unknown_sizes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

namespace thalweg::planner {
namespace {

using collective::Kind;
using collective::Rank;

/// The largest size that is predicted beside the smallest one.
constexpr Size most_predicted = Size{1} << 27;
/// The most ranks with which a tree is re-rooted for each of them. With more it is for the roots
/// that have rows of their own, and their hosts' other ranks share it.
constexpr Rank every_root_listed = 256;

/// Returns the roots for which a table has rows, or gets them if it has none.
std::set<Rank> roots(const Table& table, Kind kind) {
  if (!collective::is_rooted(kind)) return {0};
  const auto ranks = static_cast<Rank>(table.placement.size());
  const bool is_empty = std::ranges::find(table.entries, kind, &Entry::kind) == table.entries.end();
  constexpr Size any_size = std::numeric_limits<Size>::max();
  std::set<Rank> found;
  for (Rank root = 0; root < ranks && ranks <= every_root_listed; ++root)
    if (is_empty || table.find(kind, root, any_size) != nullptr) found.insert(root);
  for (const Entry& entry : table.entries)
    if (entry.kind == kind) found.insert(entry.root);
  if (found.empty()) found.insert(0);
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
    if (root)
      table.own_rows_of_host(kind, each);
    else
      table.own_rows(kind, each);
    const std::shared_ptr<const Entry> before = table.find(kind, each, high);
    Entry after = before == nullptr ? Entry{.kind = kind, .root = each, .skeleton = {}} : *before;
    after.min_size = high;
    std::erase_if(table.entries, [&](const Entry& entry) {
      return entry.kind == kind && entry.root == each && entry.min_size >= low &&
             entry.min_size <= high;
    });
    const Problem problem =
        algorithms::make_problem({.kind = kind, .ranks = ranks, .root = each, .size = low}, network,
                                 table.placement, options.library);
    table.insert(make_entry(problem, tree, high, options));
    table.insert(std::move(after));
  }
}

} // namespace thalweg::planner
