#include "network/hierarchy.hpp"

#include "network/host_classes.hpp"
#include "units/fields.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace thalweg::network {
namespace {

void check_base(double base) {
  constexpr double least_base = 1.01; // logarithmic levels are counted one by one
  if (!(base >= least_base && std::isfinite(base)))
    throw std::invalid_argument("a hierarchy's base k must be at least 1.01, not " +
                                std::to_string(base));
}

/// Returns the level of a cost. Uses no logarithm, since hosts must agree on the last bit.
std::int32_t level_of(double cost, double least, double base, Scale scale) {
  constexpr std::int32_t most = 1 << 30; // sums of two levels stay in range
  if (!(cost > 0)) return 0;
  if (scale == Scale::linear)
    return static_cast<std::int32_t>(std::min<double>(most, std::floor(cost / (base * least))));
  std::int32_t level = 0;
  for (double next = least * base; cost >= next && std::isfinite(next); next *= base)
    ++level;
  return level;
}

/// Discretises `cost(from, to)`.
template <class Cost>
Levels discretise_costs(HostId hosts, double base, Scale scale, Cost cost) {
  double least = std::numeric_limits<double>::infinity();
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to)
      if (from != to && cost(from, to) > 0) least = std::min(least, cost(from, to));
  Levels levels(index(hosts));
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to)
      if (from != to) levels(from, to) = level_of(cost(from, to), least, base, scale);
  return levels;
}

std::int32_t worse_direction(const Levels& m, HostId a, HostId b) {
  return std::max(m(a, b), m(b, a));
}

/// Returns the worst link between two groups.
std::int32_t worst_link(const Levels& m, const HostGroup& a, const HostGroup& b) {
  std::int32_t worst = 0;
  for (const HostId from : a)
    for (const HostId to : b)
      worst = std::max(worst, worse_direction(m, from, to));
  return worst;
}

/// Combines the groups of the level below, the items, to groups of a level.
class Joining {
public:
  Joining(const Levels& m, const std::vector<HostGroup>& items)
      : _items(items), _worst(items.size()) {
    const auto count = static_cast<HostId>(items.size());
    for (HostId a = 0; a < count; ++a)
      for (HostId b = 0; b < a; ++b)
        _worst(a, b) = _worst(b, a) = worst_link(m, items[index(a)], items[index(b)]);
  }

  /// Adds each item in turn to the smallest group that it is close to.
  void join(std::int32_t boundary) {
    _boundary = boundary;
    _groups.clear();
    for (HostId item = 0; item < static_cast<HostId>(_items.size()); ++item) {
      Group* best = nullptr;
      for (Group& group : _groups)
        if (close(item, group) && (best == nullptr || group.hosts < best->hosts)) best = &group;
      if (best == nullptr) best = &_groups.emplace_back();
      best->add(item, hosts(item));
    }
  }

  [[nodiscard]] std::size_t count() const { return _groups.size(); }

  /// Returns the lowest boundary at which at most half of the items have no item close to them:
  /// with any lower one, there are more groups than half as many as items. Of at least two items.
  [[nodiscard]] std::int32_t least_boundary() const {
    const auto count = static_cast<HostId>(_items.size());
    std::vector<std::int32_t> nearest(_items.size(), std::numeric_limits<std::int32_t>::max());
    for (HostId a = 0; a < count; ++a)
      for (HostId b = 0; b < count; ++b)
        if (a != b) nearest[index(a)] = std::min(nearest[index(a)], _worst(a, b));
    const auto at = nearest.begin() + (count - count / 2 - 1);
    std::ranges::nth_element(nearest, at);
    return *at;
  }
  /// Returns the lowest level above the boundary that a link between items has: with any boundary
  /// below it the groups are the same. The boundary itself if there is none.
  [[nodiscard]] std::int32_t next_boundary() const {
    std::int32_t next = std::numeric_limits<std::int32_t>::max();
    const auto count = static_cast<HostId>(_items.size());
    for (HostId a = 0; a < count; ++a)
      for (HostId b = 0; b < a; ++b)
        if (_worst(a, b) > _boundary) next = std::min(next, _worst(a, b));
    return next == std::numeric_limits<std::int32_t>::max() ? _boundary : next;
  }

  /// Moves items from the largest group to the smallest while they differ by more than `most_span`
  /// hosts and it helps.
  void adjust(std::int32_t most_span, Adjust how) {
    const auto fewer = [](const Group& a, const Group& b) { return a.hosts < b.hosts; };
    for (;;) {
      const auto smallest = std::min_element(_groups.begin(), _groups.end(), fewer);
      const auto largest = std::max_element(_groups.begin(), _groups.end(), fewer);
      const std::int32_t span = largest->hosts - smallest->hosts;
      if (span <= most_span) return;
      // A move of `span` hosts or more would only exchange the roles of the two groups.
      const auto moved =
          std::find_if(largest->items.rbegin(), largest->items.rend(), [&](HostId item) {
            return hosts(item) < span && (how == Adjust::printed || close(item, *smallest));
          });
      if (moved == largest->items.rend()) return;
      const HostId item = *moved;
      largest->remove(item, hosts(item));
      smallest->add(item, hosts(item));
      for (const HostId other : smallest->items) // for moves that ignore closeness
        if (other != item) _boundary = std::max(_boundary, _worst(item, other));
    }
  }

  [[nodiscard]] Grouping result() const {
    Grouping grouping{_boundary, {}};
    for (const Group& group : _groups) {
      HostGroup& hosts = grouping.groups.emplace_back();
      for (const HostId item : group.items)
        hosts.insert(hosts.end(), _items[index(item)].begin(), _items[index(item)].end());
      std::ranges::sort(hosts);
    }
    std::ranges::sort(grouping.groups);
    return grouping;
  }

private:
  struct Group {
    std::vector<HostId> items; // indices into _items
    std::int32_t hosts = 0;
    void add(HostId item, std::int32_t count) {
      items.push_back(item);
      hosts += count;
    }
    void remove(HostId item, std::int32_t count) {
      std::erase(items, item);
      hosts -= count;
    }
  };

  [[nodiscard]] std::int32_t hosts(HostId item) const {
    return static_cast<std::int32_t>(_items[index(item)].size());
  }
  [[nodiscard]] bool close(HostId item, const Group& group) const {
    return std::ranges::all_of(group.items,
                               [&](HostId other) { return _worst(item, other) <= _boundary; });
  }

  const std::vector<HostGroup>& _items;
  Levels _worst; ///< between items
  std::int32_t _boundary = 0;
  std::vector<Group> _groups;
};

/// Algorithm 2: returns at most half as many groups, by the lowest boundary that makes them.
Grouping group(const Levels& m, const std::vector<HostGroup>& items,
               const HierarchyOptions& options) {
  Joining joining(m, items);
  joining.join(joining.least_boundary());
  while (joining.count() > items.size() / 2)
    joining.join(joining.next_boundary());
  joining.adjust(options.most_span, options.adjust);
  return joining.result();
}

/// Algorithm 1 for a set of hosts, some of which are in groups that already have levels.
std::vector<Grouping> stack(const Levels& m, const std::vector<std::vector<Grouping>>& inner,
                            const HierarchyOptions& options) {
  std::size_t height = 0;
  for (const auto& levels : inner)
    height = std::max(height, levels.size());
  std::vector<Grouping> levels(height);
  for (std::size_t level = 0; level < height; ++level) {
    for (const auto& one : inner) {
      const Grouping& part = one[std::min(level, one.size() - 1)];
      levels[level].boundary = std::max(levels[level].boundary, part.boundary);
      levels[level].groups.insert(levels[level].groups.end(), part.groups.begin(),
                                  part.groups.end());
    }
    std::ranges::sort(levels[level].groups);
  }
  while (levels.back().groups.size() > 1) {
    const std::int32_t below = levels.back().boundary;
    levels.push_back(group(m, levels.back().groups, options));
    levels.back().boundary = std::max(levels.back().boundary, below);
  }
  return levels;
}

/// Builds the levels of all hosts. Declared groups are taken from the inside out.
std::vector<Grouping> build(const Network& network, const Levels& m,
                            const HierarchyOptions& options) {
  std::vector<std::vector<Grouping>> parts; // each with a single group at its top
  for (HostId host = 0; host < network.size(); ++host)
    parts.push_back({Grouping{0, {HostGroup{host}}}});
  std::vector<HostGroup> declared;
  for (const DeclaredGroup& each : network.groups)
    declared.push_back(each.hosts);
  std::ranges::stable_sort(declared, {}, &HostGroup::size);
  for (HostGroup& hosts : declared) {
    std::ranges::sort(hosts);
    const auto outside = std::stable_partition(parts.begin(), parts.end(), [&](const auto& levels) {
      return std::ranges::includes(hosts, levels.back().groups.front());
    });
    const std::vector<std::vector<Grouping>> inner(parts.begin(), outside);
    parts.erase(parts.begin(), outside);
    parts.push_back(stack(m, inner, options));
  }
  return stack(m, parts, options);
}

/// Returns the class of each level, by latencies.
std::vector<NetworkClass> measured_classes(const Hierarchy& hierarchy, const Network& network) {
  constexpr double cluster = 0.2e-3, lan = 1e-3, alike = 2; // seconds, seconds, factor
  std::vector<std::vector<double>> latencies(hierarchy.levels().size());
  for (HostId from = 0; from < network.size(); ++from)
    for (HostId to = 0; to < network.size(); ++to)
      if (from != to)
        latencies[index(hierarchy.distance(from, to))].push_back(network.latency(from, to).value());
  std::vector<NetworkClass> found{NetworkClass::host};
  for (std::size_t level = 1; level < latencies.size(); ++level) {
    std::vector<double>& own = latencies[level];
    // No link has this distance if the level only repeats the one below.
    NetworkClass network_class = found.back();
    if (!own.empty()) {
      std::ranges::sort(own);
      const double median = own[own.size() / 2];
      network_class = median <= cluster                   ? NetworkClass::cluster
                      : median <= lan                     ? NetworkClass::lan
                      : own.back() <= alike * own.front() ? NetworkClass::light_wan
                                                          : NetworkClass::heavy_wan;
    }
    found.push_back(std::max(found.back(), network_class));
  }
  return found;
}

/// Returns the class of a group, given the one by latencies: the smallest declared group around it
/// decides.
NetworkClass as_declared(NetworkClass measured, const HostGroup& hosts, const Network& network) {
  const DeclaredGroup* around = nullptr;
  for (const DeclaredGroup& group : network.groups) {
    const auto is_in = [&](HostId host) {
      return std::ranges::find(group.hosts, host) != group.hosts.end();
    };
    if (group.network_class && std::ranges::all_of(hosts, is_in) &&
        (around == nullptr || group.hosts.size() < around->hosts.size()))
      around = &group;
  }
  if (around == nullptr) return measured;
  const NetworkClass declared = *around->network_class;
  if (around->hosts.size() == hosts.size()) return declared;
  const bool both_wide = measured >= NetworkClass::light_wan && declared >= NetworkClass::light_wan;
  return both_wide ? declared : std::min(measured, declared);
}

} // namespace

Adjust parse_adjust(std::string_view text) {
  for (const Adjust adjust : {Adjust::close, Adjust::printed})
    if (text == units::name_of(adjust)) return adjust;
  throw std::invalid_argument("\"" + std::string(text) +
                              "\" is not a way to adjust groups: must be \"close\" or \"printed\"");
}

Scale parse_scale(std::string_view text) {
  for (const Scale scale : {Scale::linear, Scale::logarithmic})
    if (text == units::name_of(scale)) return scale;
  throw std::invalid_argument("\"" + std::string(text) +
                              "\" is not a scale of levels: must be \"linear\" or \"logarithmic\"");
}

Levels discretise(const HostPairs<Time>& values, double base, Scale scale) {
  return discretise_costs(static_cast<HostId>(values.size()), base, scale,
                          [&](HostId from, HostId to) { return values(from, to).value(); });
}

Levels discretise(const HostPairs<Rate>& values, double base, Scale scale) {
  return discretise_costs(static_cast<HostId>(values.size()), base, scale,
                          [&](HostId from, HostId to) { return 1 / values(from, to).value(); });
}

Levels performance(const Network& network, Size size, double base, Scale scale) {
  return discretise_costs(network.size(), base, scale, [&](HostId from, HostId to) {
    return network.transfer_time(from, to, size).value();
  });
}

double asymmetric_share(const Levels& levels) {
  const auto hosts = static_cast<HostId>(levels.size());
  std::int64_t asymmetric = 0;
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = 0; b < a; ++b)
      asymmetric += levels(a, b) != levels(b, a) ? 1 : 0;
  const std::int64_t pairs = std::int64_t{hosts} * (hosts - 1) / 2;
  return pairs > 0 ? static_cast<double>(asymmetric) / static_cast<double>(pairs) : 0;
}

std::pair<double, double> asymmetric_shares(const Network& network, double base, Scale scale) {
  check_base(base);
  const HostClasses classes = host_classes(network);
  std::vector<HostId> firsts;
  for (const auto& members : classes.members)
    firsts.push_back(members.front());
  // The level of a pair is that of its representatives; pairs within a class are symmetric.
  const std::vector<HostId> some = representatives(classes);
  const auto share = [&](const auto& values) {
    const Levels levels = discretise(values.part(some), base, scale);
    const auto level = [&](HostId from, HostId to) {
      const auto at = [&](HostId host) {
        return static_cast<HostId>(std::ranges::lower_bound(some, host) - some.begin());
      };
      return levels(at(from), at(to));
    };
    double asymmetric = 0;
    for (std::size_t a = 0; a < firsts.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (level(firsts[a], firsts[b]) != level(firsts[b], firsts[a]))
          asymmetric += static_cast<double>(classes.members[a].size()) *
                        static_cast<double>(classes.members[b].size());
    const double hosts = network.size();
    return hosts > 1 ? asymmetric / (hosts * (hosts - 1) / 2) : 0;
  };
  return {share(network.latency), share(network.bandwidth)};
}

Hierarchy::Hierarchy(const Network& network, const HierarchyOptions& options) {
  if (network.size() > most_hosts_in_matrices)
    throw std::invalid_argument("a hierarchy is made for up to " +
                                std::to_string(most_hosts_in_matrices) + " hosts, not for " +
                                std::to_string(network.size()));
  check_base(options.base);
  if (options.size < 0)
    throw std::invalid_argument("a hierarchy is for messages of at least 0 bytes, not of " +
                                std::to_string(options.size));
  if (options.most_span < 0)
    throw std::invalid_argument("the span of a hierarchy's groups must be at least 0, not " +
                                std::to_string(options.most_span));
  _levels =
      build(network, performance(network, options.size, options.base, options.scale), options);
  for (const Grouping& level : _levels) {
    auto& group_of = _group_of.emplace_back(network.hosts.size());
    for (std::size_t at = 0; at < level.groups.size(); ++at)
      for (const HostId host : level.groups[at])
        group_of[index(host)] = at;
  }
}

std::int32_t Hierarchy::distance(HostId a, HostId b) const {
  const auto together = std::ranges::find_if(
      _group_of, [&](const auto& group_of) { return group_of[index(a)] == group_of[index(b)]; });
  return static_cast<std::int32_t>(together - _group_of.begin());
}

std::vector<std::vector<NetworkClass>> group_classes(const Hierarchy& hierarchy,
                                                     const Network& network) {
  const std::vector<NetworkClass> measured = measured_classes(hierarchy, network);
  std::vector<std::vector<NetworkClass>> found;
  for (std::size_t level = 0; level < measured.size(); ++level) {
    const std::vector<HostGroup>& groups = hierarchy.levels()[level].groups;
    auto& own = found.emplace_back(groups.size(), NetworkClass::host);
    for (std::size_t at = 0; level > 0 && at < hierarchy.levels()[level - 1].groups.size(); ++at) {
      const HostId host = hierarchy.levels()[level - 1].groups[at].front();
      NetworkClass& around = own[hierarchy.group_of(level, host)];
      around = std::max(around, found[level - 1][at]);
    }
    for (std::size_t at = 0; at < groups.size(); ++at)
      if (groups[at].size() > 1)
        own[at] = std::max(own[at], as_declared(measured[level], groups[at], network));
  }
  return found;
}

std::vector<NetworkClass> classes(const Hierarchy& hierarchy, const Network& network) {
  std::vector<NetworkClass> worst;
  for (const auto& level : group_classes(hierarchy, network))
    worst.push_back(*std::ranges::max_element(level));
  return worst;
}

} // namespace thalweg::network
