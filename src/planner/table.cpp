#include "planner/table.hpp"

#include "planner/passes.hpp"

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

/// More ranks than this: the roots of a site share one choice.
constexpr std::size_t every_root_planned = 16;
/// More ranks than this: only roots planned from all candidates have rows, as skeletons for all
/// roots would take ranks² integers.
constexpr std::size_t every_root_listed = 256;
/// The same where planning must be quick.
constexpr std::size_t every_root_quick = 64;
/// More ranks than this: where planning must be quick it is coarser yet.
constexpr std::size_t few_ranks = 32;
/// Candidates of a site's first root that its other roots are planned from; and of a class that the
/// classes beside it are planned from.
constexpr std::size_t shortlist = 3, neighbours_list = 6;
/// Every so many classes one is planned from all candidates.
constexpr std::size_t anchors = 2;
/// Halvings, by their logarithms, of the sizes between which one plan takes over from another.
constexpr int edge_steps = 4;

/// Sizes from `min` to below the next class's.
struct SizeClass {
  Size min, representative;
};

/// From 1 byte to max_size; each so many octaves wide.
std::vector<SizeClass> size_classes(Size max_size, int octaves) {
  std::vector<SizeClass> classes;
  for (int octave = 0; (Size{1} << octave) <= max_size; octave += octaves) {
    const Size min = Size{1} << octave;
    const double mean = static_cast<double>(min) * std::exp2(octaves / 2.0);
    classes.push_back({min, static_cast<Size>(std::llround(mean))});
  }
  return classes;
}

/// The plan of a class, and who else was good.
struct Planned {
  std::size_t size_class;
  Plan plan;
  std::vector<Choice> ranking;
};

/// A group of ranks, and the plans that its first one has, a class for each row.
struct Site {
  Rank first;
  std::vector<Planned> rows;
};

/// rank -> index of the site of its host; all 0 if the network's sites aren't known.
std::vector<std::size_t> sites_of(const Network& network, const Placement& placement) {
  std::vector<std::size_t> of_host(network.hosts.size(), 0);
  for (std::size_t site = 0; site < network.sites.size(); ++site)
    for (const network::HostId host : network.sites[site])
      of_host[static_cast<std::size_t>(host)] = site;
  std::vector<std::size_t> result;
  for (const network::HostId host : placement)
    result.push_back(of_host[static_cast<std::size_t>(host)]);
  return result;
}

/// Which roots are planned; the others share the choices of one that is.
enum class Roots { all, one_per_site, first };

/// Makes the rows of a table.
class TableMaker {
public:
  TableMaker(const Network& network, const Placement& placement, const Options& options,
             const Limits& limits, std::vector<SizeClass> classes, Roots roots)
      : _network(network), _options(options), _limits(limits), _classes(std::move(classes)),
        _roots(roots) {
    _table.placement = placement;
    _limits.orders = &_orders;
    if (is_enabled(_options, "verify"))
      _options.disabled.emplace_back("verify"); // Algorithms are verified in tests.
  }

  void add(Kind kind) {
    _kind = kind;
    if (!collective::is_rooted(kind)) {
      Site all{0, {}};
      plan_root(0, all);
      return;
    }
    const auto site_of = _roots == Roots::first
                             ? std::vector<std::size_t>(_table.placement.size(), 0)
                             : sites_of(_network, _table.placement);
    const std::size_t listed =
        _options.effort == Effort::estimate ? every_root_quick : every_root_listed;
    std::vector<std::optional<Site>> sites(std::max<std::size_t>(1, _network.sites.size()));
    for (Rank root = 0; root < static_cast<Rank>(_table.placement.size()); ++root) {
      auto& site = sites[site_of[static_cast<std::size_t>(root)]];
      const bool first = !site;
      if (first) site = Site{root, {}};
      if (first || _table.placement.size() <= listed) plan_root(root, *site);
    }
  }
  Table take() { return std::move(_table); }

private:
  [[nodiscard]] Problem problem(Rank root, Size size) const {
    return {{.kind = _kind,
             .ranks = static_cast<Rank>(_table.placement.size()),
             .root = root,
             .size = _kind == Kind::barrier ? 0 : size},
            _network,
            _table.placement,
            _limits.orders};
  }

  /// The first root of a site makes its choices.
  void plan_root(Rank root, Site& site) {
    simulator::Memo memo;
    _limits.memo = &memo;
    if (root == site.first) {
      site.rows = merged(smoothed(root, plan_all(root)));
      add_rows(root, site.rows);
    } else if (_roots == Roots::all) {
      add_rows(root, merged(smoothed(root, plan_others(root, site))));
    } else {
      for (const Planned& row : site.rows)
        add_copy(problem(root, representative(row)), row);
    }
    _limits.memo = nullptr;
  }

  [[nodiscard]] Size representative(const Planned& planned) const {
    return _classes[planned.size_class].representative;
  }

  /// A plan for each class; every other one from all candidates, those between from the best of
  /// their neighbours.
  std::vector<Planned> plan_all(Rank root) {
    const std::size_t count = _kind == Kind::barrier ? 1 : _classes.size();
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

  /// From the best few of the site's first root, for the same rows.
  std::vector<Planned> plan_others(Rank root, const Site& site) {
    std::vector<Planned> planned;
    Choice before;
    for (const Planned& row : site.rows) {
      std::vector<Choice> choices = row.ranking;
      choices.resize(std::min(choices.size(), shortlist));
      planned.push_back(plan_class(root, row.size_class, &choices, shortlist, before));
    }
    return planned;
  }

  Planned plan_class(Rank root, std::size_t size_class, const std::vector<Choice>* only,
                     std::size_t ranked, Choice& before) {
    const Problem wanted = problem(root, _classes[size_class].representative);
    Limits limits = _limits;
    limits.preferred = &before;
    limits.only = only;
    Options options = _options;
    if (only != nullptr) { // They are few enough for the best judge.
      for (const char* pass : {"estimate", "fast", "search"})
        if (pass != best_judge()) options.disabled.emplace_back(pass);
    }
    Passes passes(wanted, options, limits);
    passes.run();
    Planned planned{size_class, {}, passes.ranking(ranked)};
    planned.plan = passes.take().plan;
    before = {planned.plan.algorithm, planned.plan.parameters};
    return planned;
  }

  [[nodiscard]] std::string_view best_judge() const {
    for (const char* pass : {"fluid", "fast"})
      if (is_enabled(_options, pass)) return pass;
    return "estimate";
  }

  [[nodiscard]] Time time(Rank root, const Plan& plan, Size size) const {
    return judge(problem(root, size), plan.skeleton, _options, _limits);
  }

  /// Each class takes a neighbour's plan where that is faster: a larger message isn't predicted to
  /// arrive before a smaller one.
  std::vector<Planned> smoothed(Rank root, std::vector<Planned> planned) const {
    const auto consider = [&](Planned& own, const Planned& other) {
      if (own.plan.algorithm == native_name || other.plan.algorithm == native_name ||
          own.plan.skeleton == other.plan.skeleton)
        return;
      const Time found = time(root, other.plan, representative(own));
      if (!(found < own.plan.predicted)) return;
      bounds::Bound bound = std::move(own.plan.bound);
      own.plan = other.plan;
      own.plan.bound = std::move(bound);
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
    for (Planned& next : planned)
      if (rows.empty() || rows.back().plan.algorithm != next.plan.algorithm ||
          !(rows.back().plan.skeleton == next.plan.skeleton))
        rows.push_back(std::move(next));
    return rows;
  }

  void add_rows(Rank root, const std::vector<Planned>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Size begin = i == 0 ? _classes.front().min : edge(root, rows[i - 1], rows[i]);
      add_row(root, begin, rows[i].plan);
    }
  }

  /// The size from which on the second plan is the faster one.
  [[nodiscard]] Size edge(Rank root, const Planned& first, const Planned& second) const {
    if (first.plan.algorithm == native_name || second.plan.algorithm == native_name)
      return _classes[second.size_class].min;
    Size low = _classes[second.size_class - 1].representative, high = representative(second);
    for (int step = 0; step < edge_steps && high - low > 1; ++step) {
      const auto middle = static_cast<Size>(
          std::llround(std::sqrt(static_cast<double>(low) * static_cast<double>(high))));
      const bool taken = time(root, second.plan, middle) < time(root, first.plan, middle);
      (taken ? high : low) = middle;
    }
    return high;
  }

  /// The choice made for another root.
  void add_copy(const Problem& wanted, const Planned& row) {
    const Choice choice{row.plan.algorithm, row.plan.parameters};
    Plan plan;
    plan.algorithm = choice.algorithm;
    plan.parameters = choice.parameters;
    if (choice.algorithm != native_name)
      plan.skeleton = algorithms::find(choice.algorithm).build(wanted, choice.parameters);
    add_row(wanted.collective.root, _classes[row.size_class].min, std::move(plan));
  }

  void add_row(Rank root, Size min_size, Plan plan) {
    const auto nanoseconds = [](Time time) {
      return static_cast<std::int64_t>(std::llround(time.value() * 1e9));
    };
    const bool native = plan.algorithm == native_name;
    if (!_table.entries.empty()) {
      const Entry& last = _table.entries.back();
      if (last.kind == _kind && last.root == root && last.native == native &&
          last.skeleton == plan.skeleton)
        return;
    }
    _table.entries.push_back({_kind, root, min_size, native, std::move(plan.skeleton),
                              nanoseconds(plan.predicted), nanoseconds(plan.bound.time)});
  }

  const Network& _network;
  Options _options;
  Limits _limits;
  std::vector<SizeClass> _classes;
  Roots _roots;
  algorithms::Orders _orders;
  Kind _kind = Kind::bcast;
  Table _table;
};

} // namespace

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
                 const Options& wanted, Size max_size) {
  if (placement.size() < 2) return {placement, {}};
  Options options = wanted;
  Limits limits = limits_for(options, placement.size());
  limits.fast_messages = 2000;
  limits.fluid_messages = 8000;
  const bool quick = options.effort == Effort::estimate;
  const int octaves = !quick ? 1 : placement.size() <= few_ranks ? 2 : 4;
  const bool all_roots = !quick && placement.size() <= every_root_planned;
  std::vector<Kind> ordered(kinds.begin(), kinds.end());
  std::sort(ordered.begin(), ordered.end());
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
  std::vector<SizeClass> classes = size_classes(max_size, octaves);
  options.budget /= static_cast<double>(ordered.size() * classes.size());
  TableMaker maker(network, placement, options, limits, std::move(classes),
                   all_roots ? Roots::all
                   : quick   ? Roots::first
                             : Roots::one_per_site);
  for (const Kind kind : ordered)
    maker.add(kind);
  return maker.take();
}

Table quick_table(const Network& network, const Placement& placement, const Options& wanted) {
  for (const network::HostId host : placement)
    if (host < 0 || host >= network.size()) return {placement, {}};
  Options options = wanted;
  options.effort = Effort::estimate;
  return make_table(network, placement, std::array{Kind::bcast, Kind::reduce, Kind::allreduce},
                    options, Size{1} << 22);
}

} // namespace thalweg::planner
