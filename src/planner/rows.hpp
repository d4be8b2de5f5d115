#pragma once

#include "planner/mirror.hpp"
#include "planner/native.hpp"
#include "planner/passes.hpp"
#include "planner/predicted_times.hpp"

#include <map>
#include <optional>
#include <vector>

namespace thalweg::planner {

[[nodiscard]] inline bool is_native(const Plan& plan) { return plan.algorithm == native_name; }

[[nodiscard]] inline Choice choice_of(const Plan& plan) {
  return {plan.algorithm, plan.parameters};
}

/// Sizes from `min` up to the next class's `min`.
struct SizeClass {
  Size min, representative;
};

/// What all rows of a table have in common. Several threads may share it.
struct RowSetting {
  const network::Network& network;
  const network::Placement& placement;
  const PlanOptions& options;
  const Limits& limits; ///< with a cache and a model of native
  const std::vector<SizeClass>& classes;
};

/// A plan for some adjacent classes of sizes.
struct PlannedRow {
  std::size_t first_class, last_class;
  Size begin = 1; ///< the smallest size from which on the plan is used
  Plan plan;      ///< for the first class
  std::vector<Choice> ranking = {};
  std::optional<SecondPlan> second = {};  ///< Passes::second()
  std::vector<PredictedTimes> times = {}; ///< of the classes that were planned
};

/// What was planned for one collective and root.
struct RootPlans {
  std::vector<PlannedRow> planned; ///< by class or by several, before rows were merged
  std::vector<PlannedRow> rows;
  /// The row for blocks whose sizes only their two ends know, if the collective has such blocks.
  std::optional<PlannedRow> unknown_sizes = {};
  collective::Rank root = 0;
};

/// Plans the rows of one collective and root.
///
/// The time of a plan grows about linearly with the size, so that the least time of several plans
/// is concave: between two classes it lies above their chord. Classes are planned from the
/// outermost inwards. One between two others takes the best of what ranked well for these if that
/// is within 2 % of the chord, or if it is next to both; otherwise all candidates are compared with
/// it. One whose two neighbours choose the same isn't planned.
/// docs/decisions/0082-tables-by-chords.md
class RowPlanner {
public:
  RowPlanner(const RowSetting& setting, collective::Kind kind, collective::Rank root);

  /// Compares all candidates.
  RootPlans plan();
  /// Takes the plan of another root in each of its rows if the network is the same with both
  /// exchanged (Mirror) and an estimate confirms it. Otherwise takes its choice if that is as near
  /// to the bound at both ends, or in the middle if the two roots' hosts are alike; else compares
  /// what ranked well for the other root, and all candidates where that is still farther from the
  /// bound and the hosts aren't alike. Rows begin where the other root's do if the same choices
  /// meet there.
  RootPlans plan_from(const RootPlans& other, bool alike);
  /// Takes the choices of another root, and what native takes. Nothing else is predicted.
  [[nodiscard]] RootPlans copy(const RootPlans& alike);

private:
  using Rank = collective::Rank;
  using Choices = std::vector<Choice>;

  [[nodiscard]] const Preset& preset() const { return _limits.preset; }
  [[nodiscard]] Size size(std::size_t size_class) const {
    return _setting.classes[size_class].representative;
  }
  [[nodiscard]] std::size_t class_count() const;
  [[nodiscard]] Problem problem(Size size) const;

  RootPlans plan_classes(int edge_steps);
  [[nodiscard]] std::optional<PlannedRow> plan_unknown_sizes(const Choices* only) const;
  [[nodiscard]] PlannedRow copy(const PlannedRow& alike, Size size) const;
  [[nodiscard]] Skeleton skeleton_like(const Choice& choice, const Skeleton& there,
                                       Size size) const;
  void look_for_mirror(Rank root);
  bool take_mirrored(const PlannedRow& row);
  void plan_between(std::size_t low, std::size_t high);
  void plan_row_like(const PlannedRow& row, const RootPlans& other);
  void plan_row_from(const PlannedRow& row, const RootPlans& other);
  PlannedRow plan_from(const RootPlans& other, std::size_t at, bool alike);
  /// @param first compared before all others
  PlannedRow plan_class(std::size_t at, const Choices* only, const Choice* before, Time enough,
                        const Choice* first = nullptr);
  const Known& known(std::size_t at);
  const Native& native(Size size);
  [[nodiscard]] Time as_good_as(const Plan& there, std::size_t at);
  [[nodiscard]] Time least_time(std::size_t low, std::size_t at, std::size_t high) const;
  [[nodiscard]] Time time(const Plan& plan, Size size, Time give_up = Time::infinity()) const;
  /// Returns the time of a plan by the simulation that confirms a plan to choose.
  [[nodiscard]] Time confirmed_time(const Plan& plan, Size size, Time give_up) const;
  [[nodiscard]] Time to_beat(const Plan& plan, Size size, Time give_up = Time::infinity());
  /// Returns the logarithm of how many times as long as a plan another one takes. The latter's
  /// simulation is given up where it takes much longer.
  [[nodiscard]] double lead(const Plan& plan, const Plan& other, Size size);
  [[nodiscard]] double estimated_lead(const Plan& first, const Plan& second, Size size);
  [[nodiscard]] Time estimate(const Skeleton& skeleton, Size size) const;
  void smooth();
  void take_if_faster(PlannedRow& own, const PlannedRow& other) const;
  [[nodiscard]] static std::vector<PlannedRow> merged(std::vector<PlannedRow> planned);
  /// @param known where they begin if the same two choices meet there; may be null
  void find_edges(std::vector<PlannedRow>& rows, int steps, const std::vector<PlannedRow>* known);
  void add_native(PlannedRow& row, Size size);
  [[nodiscard]] std::vector<Size> native_jumps(Size low, Size high) const;
  [[nodiscard]] Size edge(const PlannedRow& first, const PlannedRow& second, int steps);

  const RowSetting& _setting;
  collective::Kind _kind;
  Rank _root;
  simulator::Memo _memo;
  Limits _limits;
  std::optional<Mirror> _mirror;            ///< exchanges another root and this one
  Choices _pool;                            ///< what ranked well for another root
  std::vector<PlannedRow> _planned;         ///< by class
  std::vector<std::optional<Known>> _known; ///< by class
  std::map<Size, Native> _natives;
};

} // namespace thalweg::planner
