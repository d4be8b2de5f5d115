#include "planner/table.hpp"

#include "planner/parallel.hpp"
#include "planner/root_groups.hpp"
#include "planner/rows.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace thalweg::planner {

namespace {

using collective::Kind;
using collective::Rank;
using network::Network;
using network::Placement;

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

/// Whether a skeleton is a schedule that was given, whose ranks can't be exchanged.
bool is_listed(const Skeleton& skeleton) { return !skeleton.transfers.empty(); }

bool has_listed(const PlannedRow& row) {
  return is_listed(row.plan.skeleton) || (row.second && is_listed(row.second->skeleton));
}

/// Makes the rows of a table, of several collectives and roots at the same time.
class TableMaker {
public:
  TableMaker(const Network& network, const Placement& placement, const PlanOptions& options,
             const Preset& preset, std::vector<SizeClass> classes)
      : _network(network), _placement(placement), _options(options), _limits{preset},
        _classes(std::move(classes)), _native(_network, _options, _limits),
        _threads(thread_count(options.threads)) {
    _limits.cache = &_cache;
    _limits.native = &_native;
    if (is_enabled(_options, "verify"))
      _options.disabled.emplace_back("verify"); // Algorithms are verified in tests.
  }

  std::vector<Entry> make(const std::vector<Kind>& kinds) {
    for (const Kind kind : kinds)
      _plans[kind].resize(collective::is_rooted(kind) ? _placement.size() : 1);
    if (std::ranges::any_of(kinds, collective::is_rooted)) find_groups();
    plan_firsts(kinds);
    plan_others(kinds);
    std::vector<Entry> entries;
    for (const auto& [kind, by_root] : _plans)
      for (std::size_t root = 0; root < by_root.size(); ++root) {
        add_unknown_sizes(entries, kind, static_cast<Rank>(root), by_root[root].unknown_sizes);
        add_rows(entries, kind, static_cast<Rank>(root), by_root[root].rows);
      }
    return entries;
  }

private:
  [[nodiscard]] const Preset& preset() const { return _limits.preset; }
  [[nodiscard]] RowPlanner planner(Kind kind, std::size_t root) const {
    return {_setting, kind, static_cast<Rank>(root)};
  }

  void find_groups() {
    const std::vector<std::size_t> group_of = preset().roots == Roots::first
                                                  ? std::vector<std::size_t>(_placement.size(), 0)
                                                  : root_groups(_network, _placement);
    for (std::size_t rank = 0; rank < group_of.size(); ++rank) {
      if (group_of[rank] >= _groups.size()) _groups.resize(group_of[rank] + 1);
      _groups[group_of[rank]].push_back(rank);
    }
  }

  /// Plans rank 0 as the root, or the collective if it has none: what moves most blocks first,
  /// since it takes the longest.
  void plan_firsts(std::vector<Kind> kinds) {
    const auto blocks = [&](Kind kind) {
      return collective::Collective{.kind = kind, .ranks = static_cast<Rank>(_placement.size())}
          .blocks();
    };
    std::ranges::stable_sort(kinds, std::ranges::greater(), blocks);
    for_each_parallel(kinds.size(), _threads,
                      [&](std::size_t i) { _plans.at(kinds[i])[0] = planner(kinds[i], 0).plan(); });
  }

  /// Plans the other roots, by groups of those that are alike.
  void plan_others(const std::vector<Kind>& kinds) {
    std::vector<std::pair<Kind, std::size_t>> all;
    for (const Kind kind : kinds)
      if (collective::is_rooted(kind))
        for (std::size_t group = 0; group < _groups.size(); ++group)
          all.emplace_back(kind, group);
    for_each_parallel(all.size(), _threads,
                      [&](std::size_t i) { plan_group(all[i].first, _groups[all[i].second]); });
  }

  void plan_group(Kind kind, const std::vector<std::size_t>& roots) {
    std::vector<RootPlans>& plans = _plans.at(kind);
    const std::size_t first = roots.front();
    if (first != 0) plans[first] = planner(kind, first).plan_from(plans[0], false);
    const bool lists_all = _hosts * _placement.size() <= preset().most_listed;
    for (const std::size_t root : roots) {
      if (root == first || has_shared_rows(kind, root) || !lists_all) continue;
      check_wanted(_options.is_cancelled); // Copies judge nothing, which would ask it.
      plans[root] = preset().roots == Roots::all ? planner(kind, root).plan_from(plans[first], true)
                                                 : planner(kind, root).copy(plans[first]);
    }
  }

  /// Whether a root has the rows of another rank on its host, which is planned before.
  [[nodiscard]] bool has_shared_rows(Kind kind, std::size_t root) const {
    const std::size_t first = network::first_on_host(_placement, root);
    return first != root && std::ranges::none_of(_plans.at(kind)[first].rows, has_listed);
  }

  static void add_rows(std::vector<Entry>& entries, Kind kind, Rank root,
                       const std::vector<PlannedRow>& rows) {
    for (const PlannedRow& row : rows) {
      const Plan& plan = row.plan;
      if (!entries.empty()) {
        Entry& last = entries.back();
        if (last.kind == kind && last.root == root && last.native == is_native(plan) &&
            last.min_size != unknown_size && last.skeleton == plan.skeleton) {
          for (const PredictedTimes& times : row.times)
            add(last.times, times);
          continue;
        }
      }
      entries.push_back(
          make_entry(kind, root, kind == Kind::barrier ? unknown_size : row.begin, row));
      if (row.second) entries.back().second = row.second->skeleton;
    }
  }

  /// Adds the row for blocks of unknown sizes, unless it is native's: without one they are native.
  static void add_unknown_sizes(std::vector<Entry>& entries, Kind kind, Rank root,
                                const std::optional<PlannedRow>& row) {
    if (row && row->plan.algorithm != native_name)
      entries.push_back(make_entry(kind, root, unknown_size, *row));
  }

  static Entry make_entry(Kind kind, Rank root, Size begin, const PlannedRow& row) {
    Entry entry{kind, root, begin, is_native(row.plan), row.plan.skeleton};
    entry.times = row.times;
    set_native(entry, row.plan.native);
    return entry;
  }

  const Network& _network;
  const Placement& _placement;
  PlanOptions _options;
  Limits _limits;
  std::vector<SizeClass> _classes;
  algorithms::Cache _cache;
  NativeModel _native;
  int _threads;
  RowSetting _setting{_network, _placement, _options, _limits, _classes};
  std::size_t _hosts = network::used_hosts(_placement).size();
  std::vector<std::vector<std::size_t>> _groups; ///< of roots whose hosts are alike
  std::map<Kind, std::vector<RootPlans>> _plans; ///< by kind, then root
};

std::tuple<Kind, Rank, Size> place_of(const Entry& entry) {
  return {entry.kind, entry.root, entry.min_size};
}

std::pair<Kind, Rank> key_of(const Entry& entry) { return {entry.kind, entry.root}; }

std::span<const Entry> listed_rows(const Table& table, Kind kind, Rank root) {
  const std::pair key(kind, root);
  return {std::ranges::lower_bound(table.entries, key, {}, key_of),
          std::ranges::upper_bound(table.entries, key, {}, key_of)};
}

/// Returns a root's rows, or those of the first rank on its host.
std::span<const Entry> rows_for(const Table& table, Kind kind, Rank root) {
  const std::span<const Entry> own = listed_rows(table, kind, root);
  if (!own.empty() || !collective::is_rooted(kind) || root < 0 ||
      std::cmp_greater_equal(root, table.placement.size()))
    return own;
  return listed_rows(table, kind,
                     static_cast<Rank>(network::first_on_host(table.placement, index(root))));
}

/// Returns the row for a size, or the end: none.
std::span<const Entry>::iterator row_for(std::span<const Entry> rows, Size size) {
  const auto after = std::ranges::upper_bound(rows, size, {}, &Entry::min_size);
  return after == rows.begin() ? rows.end() : std::prev(after);
}

/// Whether a root has another's plan, but can't: it is a schedule that was given.
bool is_withheld(const Skeleton& skeleton, const Entry& row, Rank root) {
  return row.root != root && is_listed(skeleton);
}

bool is_native_for(const Entry& row, Rank root) {
  return row.native || is_withheld(row.skeleton, row, root);
}

/// Returns a row for a root on its host.
Entry as_of(const Entry& row, Rank root) {
  Entry own = row;
  own.root = root;
  if (row.root == root) return own;
  const auto exchanged = [&](const Skeleton& skeleton) {
    return Mirror::within_host(skeleton.ranks, row.root, root)(skeleton);
  };
  if (row.second)
    own.second =
        is_withheld(*row.second, row, root) ? std::nullopt : std::optional(exchanged(*row.second));
  if (row.native) return own;
  if (!is_native_for(row, root)) {
    own.skeleton = exchanged(row.skeleton);
    return own;
  }
  own.native = true;
  own.skeleton = {};
  for (PredictedTimes& times : own.times)
    times.plan_ns = times.native_ns;
  return own;
}

} // namespace

void set_native(Entry& entry, const Native& native) {
  entry.native_percent = static_cast<std::int32_t>(std::lround(100 * native.uncertainty));
  entry.native_algorithm = native.algorithm;
}

std::vector<Entry> Table::rows(Kind kind, Rank root) const {
  std::vector<Entry> found;
  for (const Entry& row : rows_for(*this, kind, root))
    found.push_back(as_of(row, root));
  return found;
}

std::shared_ptr<const Entry> Table::find(Kind kind, Rank root, Size size) const {
  if (!collective::is_rooted(kind)) root = 0;
  const std::span<const Entry> rows = rows_for(*this, kind, root);
  const auto row = row_for(rows, size);
  if (row == rows.end()) return nullptr;
  if (row->root == root) return {std::shared_ptr<void>(), &*row};
  return std::make_shared<const Entry>(as_of(*row, root));
}

std::optional<RowOutline> Table::outline(Kind kind, Rank root, Size size) const {
  if (!collective::is_rooted(kind)) root = 0;
  const std::span<const Entry> rows = rows_for(*this, kind, root);
  const auto row = row_for(rows, size);
  if (row == rows.end()) return std::nullopt;
  return RowOutline{row->min_size, is_native_for(*row, root),
                    row->second && !is_withheld(*row->second, *row, root)};
}

void Table::own_rows(Kind kind, Rank root) {
  if (!listed_rows(*this, kind, root).empty()) return;
  std::vector<Entry> own = rows(kind, root);
  if (own.empty())
    own.push_back({.kind = kind,
                   .root = root,
                   .min_size = kind == Kind::barrier ? unknown_size : 1,
                   .skeleton = {}});
  const auto at = std::ranges::lower_bound(entries, std::pair(kind, root), {}, key_of);
  entries.insert(at, std::move_iterator(own.begin()), std::move_iterator(own.end()));
}

void Table::own_rows_of_host(Kind kind, Rank root) {
  own_rows(kind, root);
  if (!collective::is_rooted(kind)) return;
  for (std::size_t rank = 0; rank < placement.size(); ++rank)
    if (placement[rank] == placement[index(root)]) own_rows(kind, static_cast<Rank>(rank));
}

void Table::insert(Entry row) {
  const auto at = std::ranges::lower_bound(entries, place_of(row), {}, place_of);
  entries.insert(at, std::move(row));
}

void Table::sort() { std::ranges::sort(entries, {}, place_of); }

std::vector<PredictedTimes> Table::known_times(Kind kind, Rank root, Size size) const {
  if (!collective::is_rooted(kind)) root = 0;
  const std::span<const Entry> beside = rows_for(*this, kind, root);
  const auto is_native = [&](const Entry& entry) { return is_native_for(entry, root); };
  const auto row = row_for(beside, size);
  if (row == beside.end() || row->times.empty()) return {};
  std::vector<PredictedTimes> known = row->times;
  const Size first = known.front().size, last = known.back().size;
  const auto smaller = [&](const PredictedTimes& each) { return each.size < first; };
  const auto larger = [&](const PredictedTimes& each) { return each.size > last; };
  const auto times_of = [&](const Entry& other) {
    std::vector<PredictedTimes> times = other.times;
    // A plan and native meet where the plan is clearly faster.
    if (is_native(other) != is_native(*row))
      for (PredictedTimes& each : times)
        each.plan_ns = 0;
    return times;
  };
  if (row != beside.begin() && std::prev(row)->min_size != unknown_size)
    std::ranges::copy_if(times_of(*std::prev(row)), std::inserter(known, known.begin()), smaller);
  if (std::next(row) != beside.end() && row->min_size != unknown_size)
    std::ranges::copy_if(times_of(*std::next(row)), std::back_inserter(known), larger);
  for (const auto quantity : PredictedTimes::times())
    if (std::ranges::all_of(row->times, [&](const auto& each) { return each.*quantity == 0; }))
      for (PredictedTimes& each : known)
        each.*quantity = 0;
  if (is_native(*row))
    for (PredictedTimes& each : known)
      each.plan_ns = each.native_ns;
  return known;
}

PredictedTimes Table::predict(Kind kind, Rank root, Size size) const {
  return planner::predict(known_times(kind, root, size), size);
}

PredictedTimes predict(std::span<const PredictedTimes> known, Size size) {
  PredictedTimes found = interpolate(known, size);
  // Far beyond the largest size, their lines may cross.
  if (found.plan_ns > 0) found.bound_ns = std::min(found.bound_ns, found.plan_ns);
  return found;
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
  return {placement,
          TableMaker(network, placement, options, preset, std::move(classes)).make(ordered)};
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
