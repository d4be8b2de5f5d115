#include "planner/table.hpp"

#include "planner/passes.hpp"

#include <algorithm>
#include <cmath>
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
/// Candidates of a site's first root that its other roots are planned from.
constexpr std::size_t shortlist = 3;

/// Sizes from `min` to below the next class's.
struct SizeClass {
  Size min, representative;
};

/// From 1 byte to max_size; `steps` per octave: 2, or fractions of 1.
std::vector<SizeClass> size_classes(Size max_size, double steps) {
  std::vector<SizeClass> classes;
  const auto edge = [&](int index) {
    return static_cast<Size>(std::llround(std::exp2(index / steps)));
  };
  for (int i = 0; edge(i) <= max_size; ++i) {
    const Size min = edge(i), next = edge(i + 1);
    if (min == next) continue;
    const double mean = std::sqrt(static_cast<double>(min) * static_cast<double>(next));
    classes.push_back({min, std::clamp(static_cast<Size>(std::llround(mean)), min, next - 1)});
  }
  return classes;
}

/// A group of ranks, and the choices that its first one made, by size class.
struct Site {
  Rank first;
  std::vector<std::vector<Choice>> rankings;
  std::vector<Choice> chosen;
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

/// quick_table: more ranks than this, and only rank 0 has rows.
constexpr std::size_t every_root_quick = 64;
/// quick_table: more ranks than this, and it is coarser yet.
constexpr std::size_t few_ranks = 32;

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
    if (!has("verify"))
      _options.disabled.emplace_back("verify"); // Algorithms are verified in tests.
  }

  void add(Kind kind) {
    if (!collective::is_rooted(kind)) {
      plan_root(kind, 0, nullptr);
      return;
    }
    const auto site_of = _roots == Roots::first
                             ? std::vector<std::size_t>(_table.placement.size(), 0)
                             : sites_of(_network, _table.placement);
    const std::size_t listed = _roots == Roots::first ? every_root_quick : every_root_listed;
    std::vector<std::optional<Site>> sites(std::max<std::size_t>(1, _network.sites.size()));
    for (Rank root = 0; root < static_cast<Rank>(_table.placement.size()); ++root) {
      auto& site = sites[site_of[static_cast<std::size_t>(root)]];
      const bool first = !site;
      if (first) site = Site{root, {}, {}};
      if (first || _table.placement.size() <= listed) plan_root(kind, root, &*site);
    }
  }
  Table take() { return std::move(_table); }

private:
  [[nodiscard]] bool has(const char* pass) const {
    return std::find(_options.disabled.begin(), _options.disabled.end(), pass) !=
           _options.disabled.end();
  }

  /// `site`: of a rooted collective, whose choices its first root makes.
  void plan_root(Kind kind, Rank root, Site* site) {
    const bool first = site == nullptr || site->first == root;
    Choice before;
    simulator::Memo memo;
    for (std::size_t i = 0; i < _classes.size(); ++i) {
      const Problem problem{{.kind = kind,
                             .ranks = static_cast<Rank>(_table.placement.size()),
                             .root = root,
                             .size = _classes[i].representative},
                            _network,
                            _table.placement};
      if (!first && _roots != Roots::all) {
        if (i == 0 || !(site->chosen[i] == site->chosen[i - 1]))
          add_copy(problem, _classes[i].min, site->chosen[i]);
        continue;
      }
      Limits limits = _limits;
      limits.preferred = &before;
      limits.memo = &memo;
      Options options = _options;
      if (!first) {
        limits.only = &site->rankings[i];
        if (!has("fluid")) options.disabled.emplace_back("fast"); // They are few enough.
      }
      Passes passes(problem, options, limits);
      passes.run();
      if (first && site != nullptr) site->rankings.push_back(passes.ranking(shortlist));
      Plan plan = passes.take().plan;
      before = {plan.algorithm, plan.parameters};
      if (first && site != nullptr) site->chosen.push_back(before);
      add_row(problem, _classes[i].min, std::move(plan));
    }
  }

  /// The choice made for another root.
  void add_copy(const Problem& problem, Size min_size, const Choice& choice) {
    Plan plan;
    plan.algorithm = choice.algorithm;
    plan.parameters = choice.parameters;
    if (choice.algorithm != native_name)
      plan.skeleton = algorithms::find(choice.algorithm).build(problem, choice.parameters);
    add_row(problem, min_size, std::move(plan));
  }

  void add_row(const Problem& problem, Size min_size, Plan plan) {
    const auto nanoseconds = [](Time time) {
      return static_cast<std::int64_t>(std::llround(time.value() * 1e9));
    };
    const bool native = plan.algorithm == native_name;
    const auto& [kind, root] = std::pair(problem.collective.kind, problem.collective.root);
    if (!_table.entries.empty()) {
      const Entry& last = _table.entries.back();
      if (last.kind == kind && last.root == root && last.native == native &&
          last.skeleton == plan.skeleton)
        return;
    }
    _table.entries.push_back({kind, root, min_size, native, std::move(plan.skeleton),
                              nanoseconds(plan.predicted), nanoseconds(plan.bound.time)});
  }

  const Network& _network;
  Options _options;
  Limits _limits;
  std::vector<SizeClass> _classes;
  Roots _roots;
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
                 const Options& options, Size max_size) {
  if (placement.size() < 2) return {placement, {}};
  Limits limits;
  limits.fast_messages = 2000;
  limits.fluid_messages = 8000;
  TableMaker maker(network, placement, options, limits, size_classes(max_size, 2),
                   placement.size() <= every_root_planned ? Roots::all : Roots::one_per_site);
  std::vector<Kind> ordered(kinds.begin(), kinds.end());
  std::sort(ordered.begin(), ordered.end());
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
  for (const Kind kind : ordered)
    maker.add(kind);
  return maker.take();
}

Table quick_table(const Network& network, const Placement& placement, const Options& options) {
  if (placement.size() < 2) return {placement, {}};
  for (const network::HostId host : placement)
    if (host < 0 || host >= network.size()) return {placement, {}};
  const bool few = placement.size() <= few_ranks;
  Options quick = options;
  quick.disabled = {"fluid", "bound", "verify"};
  Limits limits;
  limits.fast_messages = 500;
  limits.candidate_messages = 30000;
  limits.parameters = few ? 3 : 1;
  limits.quick_builds = true;
  limits.rank_order = placement.size() > every_root_listed;
  TableMaker maker(network, placement, quick, limits, size_classes(Size{1} << 22, few ? 0.5 : 0.25),
                   Roots::first);
  for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::allreduce})
    maker.add(kind);
  return maker.take();
}

} // namespace thalweg::planner
