#include "mapping/planned.hpp"

#include "mapping/call_plans.hpp"
#include "mapping/chains.hpp"
#include "mapping/collectives.hpp"
#include "mapping/native_calls.hpp"
#include "mapping/state.hpp"
#include "mapping/streams.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

namespace thalweg::mapping {
namespace {

/// The calls that are predicted: as many as make up this share of what the estimate finds, and no
/// more than so many, by the squares of their ranks: those of 1,024 take seconds each.
constexpr double most_of_all = 0.9;
constexpr std::size_t most_planned = 6;
constexpr double most_squares = 6.0 * 64 * 64;
/// What costs less by a smaller share than this costs the same.
constexpr double least_gain = 1e-5;
/// The least share by which chains must be shorter than on the first placement. Of placements that
/// cost less, those of which this isn't so were found to be slower (decision 0145).
constexpr double least_chain_gain = 0.05;

/// The program's calls, divided by whether they are predicted or estimated.
class Calls {
public:
  /// @param tables of the problem
  Calls(const Problem& problem, std::shared_ptr<const SiteTables> tables,
        const Placement& placement, const std::string& library)
      : _problem(problem), _tables(std::move(tables)), _native(problem, library) {
    std::vector<double> seconds;
    for (const Call& call : problem.calls)
      seconds.push_back(estimate({call}, placement));
    std::vector<std::size_t> order(problem.calls.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t at) { return seconds[at]; });
    const double all = std::reduce(seconds.begin(), seconds.end());
    double so_far = 0, squares = 0;
    for (const std::size_t at : order) {
      const Call& call = problem.calls[at];
      const auto ranks =
          static_cast<double>(call.members.empty() ? index(problem.ranks()) : call.members.size());
      const bool is_predicted = seconds[at] > 0 && predicted() < most_planned &&
                                so_far < most_of_all * all &&
                                squares + ranks * ranks <= most_squares;
      if (is_predicted) {
        if (library.empty())
          _planned.emplace_back(problem, call);
        else
          _native.add(call);
        squares += ranks * ranks;
      } else
        _estimated.push_back(call);
      so_far += seconds[at];
    }
  }

  [[nodiscard]] std::size_t predicted() const { return _planned.size() + _native.count(); }

  /// Returns what they take, or something above the limit as soon as that is clear.
  [[nodiscard]] double seconds(const Placement& placement, double limit) {
    double sum = estimate(_estimated, placement) + _native.seconds(placement);
    for (CallPlans& call : _planned) {
      if (sum >= limit) break;
      sum += call.least_seconds(placement);
    }
    for (CallPlans& call : _planned) {
      if (sum >= limit) break;
      sum += call.seconds(placement) - call.least_seconds(placement);
    }
    return sum;
  }

private:
  [[nodiscard]] double estimate(const std::vector<Call>& calls, const Placement& placement) const {
    Problem only{_problem.network, Communication(_problem.ranks(), {}), _problem.slots, calls};
    only.metric = _problem.metric;
    return Collectives(only, placement, _tables).total();
  }

  const Problem& _problem;
  std::shared_ptr<const SiteTables> _tables;
  std::vector<CallPlans> _planned;
  NativeCalls _native;
  std::vector<Call> _estimated;
};

} // namespace

PlannedCosts planned_costs(const Problem& problem, std::span<const Placement> placements,
                           const std::string& library) {
  const Problem waited = with_waits(problem);
  const HostCosts costs(waited, HostCosts::Pairs::on_demand);
  Calls calls(problem, costs.tables(), placements.front(), library);
  PlannedCosts found{{}, calls.predicted()};
  Chains chains(problem, costs, library);
  Time longest{};
  double enough = std::numeric_limits<double>::infinity();
  for (const Placement& placement : placements) {
    Cost each = State(waited, costs, placement).cost();
    const double others = (each.total() - each.collectives).value();
    each.collectives = Time(calls.seconds(placement, enough - others));
    const double total = each.total().value();
    const bool is_less = total < enough;
    const Time beyond = chains.has_calls() ? Time{} : each.collectives;
    const Time chained = is_less ? chains.time(placement) + beyond : Time{};
    const bool is_first = found.costs.empty();
    if (is_first) longest = chained * (1 - least_chain_gain);
    const bool is_better = is_first || (is_less && chained <= longest);
    found.costs.push_back(is_better ? std::optional(each) : std::nullopt);
    if (is_better) enough = total * (1 - least_gain);
  }
  return found;
}

} // namespace thalweg::mapping
