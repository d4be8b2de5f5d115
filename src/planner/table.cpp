#include "planner/table.hpp"

#include "planner/native.hpp"
#include "planner/passes.hpp"
#include "planner/root_groups.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

namespace thalweg::planner {

namespace {

using collective::Kind;
using collective::Rank;
using network::Network;
using network::Placement;

/// How many of a ranking's best candidates are reused: by the group's other roots, and by the
/// neighbouring size classes.
constexpr std::size_t shortlist = 3, neighbours_list = 4;
/// Every second class is planned from all candidates.
constexpr std::size_t anchors = 2;
/// A search for the size where one plan overtakes another stops when their times differ by less
/// than 1 %.
constexpr double edge_height = 1.01;

std::int64_t nanoseconds(Time time) {
  return static_cast<std::int64_t>(std::llround(time.value() * 1e9));
}

/// Sizes from `min` up to the next class's `min`.
struct SizeClass {
  Size min, representative;
};

/// Returns classes from 1 byte to max_size, each `octaves` wide.
std::vector<SizeClass> size_classes(Size max_size, int octaves) {
  std::vector<SizeClass> classes;
  for (int octave = 0; (Size{1} << octave) <= max_size; octave += octaves) {
    const Size min = Size{1} << octave;
    const double mean = static_cast<double>(min) * std::exp2(octaves / 2.0);
    classes.push_back({min, static_cast<Size>(std::llround(mean))});
  }
  return classes;
}

/// The plan of a class or row, and the ranking it came from.
struct Planned {
  std::size_t size_class; ///< for a row: its first one
  Plan plan;
  std::vector<Choice> ranking;
  std::size_t last_class = 0; ///< for a row
  Size begin = 1;             ///< for a row: its smallest size
};

/// A group of similar roots, and what was planned for its first root.
struct Group {
  Rank first;
  std::vector<Planned> rows;
  std::vector<Choice> pool; ///< every choice in the ranking of some size
};

/// Makes the rows of a table.
class TableMaker {
public:
  TableMaker(const Network& network, const Placement& placement, const PlanOptions& options,
             const Preset& preset, std::vector<SizeClass> classes)
      : _network(network), _cost(network::message_cost(network, options.library)),
        _options(options), _limits{preset}, _classes(std::move(classes)),
        _native(_network, _options, _limits) {
    _table.placement = placement;
    _limits.cache = &_cache;
    _limits.native = &_native;
    if (is_enabled(_options, "verify"))
      _options.disabled.emplace_back("verify"); // Algorithms are verified in tests.
  }

  void add(Kind kind) {
    _kind = kind;
    if (!collective::is_rooted(kind)) {
      Group all{0, {}, {}};
      plan_root(0, all);
      return;
    }
    if (_groups.empty())
      _groups = preset().roots == Roots::first
                    ? std::vector<std::size_t>(_table.placement.size(), 0)
                    : root_groups(_network, _table.placement);
    std::vector<std::optional<Group>> groups(_table.placement.size());
    for (Rank root = 0; root < static_cast<Rank>(_table.placement.size()); ++root) {
      auto& group = groups[_groups[static_cast<std::size_t>(root)]];
      const bool first = !group;
      if (first) group = Group{root, {}, {}};
      if (first || _table.placement.size() <= preset().most_roots_listed) plan_root(root, *group);
    }
  }
  Table take() { return std::move(_table); }

private:
  [[nodiscard]] const Preset& preset() const { return _limits.preset; }
  [[nodiscard]] Problem problem(Rank root, Size size) const {
    return {.collective = {.kind = _kind,
                           .ranks = static_cast<Rank>(_table.placement.size()),
                           .root = root,
                           .size = _kind == Kind::barrier ? 0 : size},
            .network = _network,
            .placement = _table.placement,
            .cost = _cost,
            .cache = _limits.cache};
  }

  /// Plans a root; the first root of a group sets the group's choices.
  void plan_root(Rank root, Group& group) {
    simulator::Memo memo;
    _limits.memo = &memo;
    if (root == group.first) {
      group.rows = smoothed(root, plan_all(root));
      for (const Planned& planned : group.rows)
        for (const Choice& choice : planned.ranking)
          if (std::ranges::find(group.pool, choice) == group.pool.end())
            group.pool.push_back(choice);
      group.rows = merged(std::move(group.rows));
      find_edges(root, group.rows, preset().edge_steps);
      add_rows(root, group.rows);
    } else if (preset().roots == Roots::all) {
      auto rows = merged(smoothed(root, plan_others(root, group)));
      find_edges(root, rows, preset().other_edge_steps);
      add_rows(root, rows);
    } else {
      for (const Planned& row : group.rows)
        add_copy(problem(root, representative(row)), row);
    }
    _limits.memo = nullptr;
  }

  [[nodiscard]] Size representative(const Planned& planned) const {
    return _classes[planned.size_class].representative;
  }

  /// Plans each class: every other one from all candidates, the ones between from the best of their
  /// neighbours.
  std::vector<Planned> plan_all(Rank root) {
    const std::size_t count = class_count();
    std::vector<Planned> planned(count);
    Choice before;
    for (std::size_t i = 0; i < count; i += anchors)
      planned[i] = plan_class(root, i, nullptr, neighbours_list, before);
    for (std::size_t i = 0; i < count; ++i) {
      if (i % anchors == 0) continue;
      std::vector<Choice> choices = planned[i - i % anchors].ranking;
      if (const std::size_t next = i - i % anchors + anchors; next < count)
        for (const Choice& choice : planned[next].ranking)
          if (std::ranges::find(choices, choice) == choices.end()) choices.push_back(choice);
      before = {planned[i - 1].plan.algorithm, planned[i - 1].plan.parameters};
      planned[i] = plan_class(root, i, &choices, shortlist, before);
    }
    return planned;
  }

  /// Plans every other class from the choices that ranked well for the group's first root.
  std::vector<Planned> plan_others(Rank root, const Group& group) {
    std::vector<Planned> planned;
    Choice before;
    for (std::size_t i = 0; i < class_count(); i += anchors)
      planned.push_back(plan_class(root, i, &group.pool, shortlist, before));
    return planned;
  }

  [[nodiscard]] std::size_t class_count() const {
    return _kind == Kind::barrier ? 1 : _classes.size();
  }

  Planned plan_class(Rank root, std::size_t size_class, const std::vector<Choice>* only,
                     std::size_t ranked, Choice& before) {
    const Problem wanted = problem(root, _classes[size_class].representative);
    Limits limits = _limits;
    limits.preferred = &before;
    limits.only = only;
    PlanOptions options = _options;
    if (only != nullptr) { // The choices are few: the best simulation sees the likeliest.
      options.finalists = shortlist;
      limits.preset.rival_margin = 0;
      for (const char* pass : {"fast", "search"})
        if (pass != best_judge(_options)) options.disabled.emplace_back(pass);
    }
    Passes passes(wanted, options, limits);
    passes.run();
    Planned planned{size_class, {}, passes.ranking(ranked)};
    planned.plan = passes.take().plan;
    before = {planned.plan.algorithm, planned.plan.parameters};
    return planned;
  }

  [[nodiscard]] Time time(Rank root, const Plan& plan, Size size) const {
    return judge(problem(root, size), plan.skeleton, _options, _limits);
  }

  /// Returns the time that another plan must be predicted to take at most to replace this one.
  [[nodiscard]] Time to_beat(Rank root, const Plan& plan, Size size) {
    return plan.algorithm == native_name ? _native.predict(problem(root, size)).to_beat()
                                         : time(root, plan, size);
  }

  /// Gives each class a neighbour's plan where that is faster, so that a larger message isn't
  /// predicted to arrive before a smaller one.
  std::vector<Planned> smoothed(Rank root, std::vector<Planned> planned) const {
    const auto consider = [&](Planned& own, const Planned& other) {
      if (other.plan.algorithm == native_name || own.plan.skeleton == other.plan.skeleton) return;
      const Time found = time(root, other.plan, representative(own));
      const bool is_native = own.plan.algorithm == native_name;
      if (!(found < (is_native ? own.plan.native.to_beat() : own.plan.predicted))) return;
      bounds::Bound bound = std::move(own.plan.bound);
      Native native = std::move(own.plan.native);
      own.plan = other.plan;
      own.plan.bound = std::move(bound);
      own.plan.native = std::move(native);
      own.plan.predicted = found;
    };
    for (std::size_t i = planned.size(); i-- > 1;)
      if (planned[i].plan.predicted < planned[i - 1].plan.predicted)
        consider(planned[i - 1], planned[i]);
    for (std::size_t i = 1; i < planned.size(); ++i)
      consider(planned[i], planned[i - 1]);
    return planned;
  }

  static std::vector<Planned> merged(std::vector<Planned> planned) {
    std::vector<Planned> rows;
    for (Planned& next : planned) {
      next.last_class = next.size_class;
      if (rows.empty() || rows.back().plan.algorithm != next.plan.algorithm ||
          !(rows.back().plan.skeleton == next.plan.skeleton))
        rows.push_back(std::move(next));
      else
        rows.back().last_class = next.size_class;
    }
    return rows;
  }

  void find_edges(Rank root, std::vector<Planned>& rows, int steps) {
    for (std::size_t i = 1; i < rows.size(); ++i)
      rows[i].begin = edge(root, rows[i - 1], rows[i], steps);
  }

  void add_rows(Rank root, const std::vector<Planned>& rows) {
    for (const Planned& row : rows)
      add_row(root, _kind == Kind::barrier ? 0 : row.begin, row.plan);
  }

  /// Returns the size from which the second plan is faster: where both take the same time, or where
  /// one of them jumps because it needs another segment.
  [[nodiscard]] Size edge(Rank root, const Planned& first, const Planned& second, int steps) {
    Size low = _classes[first.last_class].representative, high = representative(second);
    for (int step = 0; step < steps && high - low > 1; ++step) {
      const auto middle = static_cast<Size>(
          std::llround(std::sqrt(static_cast<double>(low) * static_cast<double>(high))));
      if (middle <= low || middle >= high) break;
      const Time before = to_beat(root, first.plan, middle),
                 after = to_beat(root, second.plan, middle);
      (after < before ? high : low) = middle;
      if (after < before * edge_height && before < after * edge_height) return middle;
    }
    return high;
  }

  /// Adds a row with the choice made for another root.
  void add_copy(const Problem& wanted, const Planned& row) {
    const Choice choice{row.plan.algorithm, row.plan.parameters};
    Plan plan;
    plan.algorithm = choice.algorithm;
    plan.parameters = choice.parameters;
    plan.native = row.plan.native;
    if (choice.algorithm == native_name)
      plan.predicted = plan.native.time;
    else
      plan.skeleton =
          algorithms::make_skeleton(algorithms::find(choice.algorithm), wanted, choice.parameters);
    add_row(wanted.collective.root, row.begin, std::move(plan));
  }

  void add_row(Rank root, Size min_size, Plan plan) {
    const bool native = plan.algorithm == native_name;
    if (!_table.entries.empty()) {
      const Entry& last = _table.entries.back();
      if (last.kind == _kind && last.root == root && last.native == native &&
          last.skeleton == plan.skeleton)
        return;
    }
    Entry entry{_kind, root, min_size, native, std::move(plan.skeleton)};
    entry.predicted_ns = nanoseconds(plan.predicted);
    entry.bound_ns = nanoseconds(plan.bound.time);
    set_native(entry, plan.native);
    _table.entries.push_back(std::move(entry));
  }

  const Network& _network;
  network::MessageCost _cost;
  PlanOptions _options;
  Limits _limits;
  std::vector<SizeClass> _classes;
  std::vector<std::size_t> _groups; ///< rank -> index of its group
  algorithms::Cache _cache;
  NativeModel _native;
  Kind _kind = Kind::bcast;
  Table _table;
};

} // namespace

void set_native(Entry& entry, const Native& native) {
  entry.native_ns = nanoseconds(native.time);
  entry.native_percent = static_cast<std::int32_t>(std::lround(100 * native.uncertainty));
  entry.native_algorithm = native.algorithm;
}

const Entry* Table::find(Kind kind, Rank root, Size size) const {
  if (!collective::is_rooted(kind)) root = 0;
  const auto after =
      std::upper_bound(entries.begin(), entries.end(), std::tuple(kind, root, size),
                       [](const auto& key, const Entry& entry) {
                         return key < std::tuple(entry.kind, entry.root, entry.min_size);
                       });
  if (after == entries.begin()) return nullptr;
  const Entry& entry = *std::prev(after);
  return entry.kind == kind && entry.root == root ? &entry : nullptr;
}

Table make_table(const Network& network, const Placement& placement, std::span<const Kind> kinds,
                 const PlanOptions& wanted, Size max_size) {
  if (placement.size() < 2) return {placement, {}};
  const Preset preset = table_preset(wanted.effort, placement.size());
  PlanOptions options = with_preset(wanted, preset);
  std::vector<Kind> ordered(kinds.begin(), kinds.end());
  std::sort(ordered.begin(), ordered.end());
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
  std::vector<SizeClass> classes = size_classes(max_size, preset.octaves);
  options.budget /= static_cast<double>(ordered.size() * classes.size());
  TableMaker maker(network, placement, options, preset, std::move(classes));
  for (const Kind kind : ordered)
    maker.add(kind);
  return maker.take();
}

/// More ranks than this: a quick table is of few collectives.
constexpr std::size_t few_ranks = 32;

Table quick_table(const Network& network, const Placement& placement, const PlanOptions& wanted) {
  for (const network::HostId host : placement)
    if (host < 0 || host >= network.size()) return {placement, {}};
  PlanOptions options = wanted;
  options.effort = Effort::estimate;
  constexpr std::array common = {Kind::bcast, Kind::reduce, Kind::allreduce};
  const std::span<const Kind> kinds =
      placement.size() <= few_ranks ? std::span<const Kind>(collective::kinds) : common;
  return make_table(network, placement, kinds, options, Size{1} << 22);
}

} // namespace thalweg::planner
