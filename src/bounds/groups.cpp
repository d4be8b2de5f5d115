#include "bounds/groups.hpp"

#include "optimization/prim.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace thalweg::bounds {
namespace {

using optimization::Link;

/// With more sites only single sites and pairs of sites are tried instead of all sets.
constexpr std::size_t most_sites_for_all_sets = 6;
/// With more trunks no trunk is preferred where a pair crosses several.
constexpr std::size_t most_preferred_trunks = 8;
/// The most sets of slowest hosts that are tried.
constexpr std::size_t most_slow_sets = 6;
/// The ratio of rates from which a host begins a new class of speed.
constexpr double speed_step = 1.15;

/// The most pairs of halves that slow pairs of hosts suggest.
constexpr std::size_t most_halves = 6;
/// Pairs are slow below this fraction of the fastest pair that connects hosts.
constexpr double slow_pair = 0.5;

/// Returns a spanning tree of the hosts with the fastest pairs. A pair is as fast as its slower
/// direction, ports included; its weight is that rate, negative.
std::vector<Link> fastest_tree(const Reach& reach) {
  const auto weight = [&](HostId a, HostId b) {
    return -std::min(reach.between(a, b), reach.between(b, a));
  };
  return optimization::spanning_tree(reach.size(), 0, weight, optimization::Tie::any);
}

double finite(double rate) { return rate < Reach::unlimited ? rate : 0; }

/// Sorts hubs by their first senders, and those of one first sender by trunk.
void number_by_senders(std::vector<Hub>& hubs) {
  std::ranges::sort(hubs, {}, [](const Hub& hub) {
    return std::pair(std::ranges::find(hub.sends, 1) - hub.sends.begin(), hub.trunk);
  });
}

} // namespace

Groups::Groups(const Reach& reach) : _reach(reach) {
  for (HostId host = 0; host < reach.size(); ++host) {
    _out.push_back(reach.rate_out(host));
    _in.push_back(reach.rate_in(host));
  }
  find_slowest_pairs();
  find_classes();
  add_graphs();
  find_sets();
  find_partitions();
}

void Groups::find_slowest_pairs() {
  _slowest_out.assign(_out.size(), Reach::unlimited);
  _slowest_in = _slowest_out;
  if (_reach.pairs.size() == 0) return; // The ports limit all that pairs carry.
  for (HostId from = 0; from < _reach.size(); ++from)
    for (HostId to = 0; to < _reach.size(); ++to) {
      if (from == to) continue;
      const double rate = _reach.between(from, to);
      _slowest_out[index(from)] = std::min(_slowest_out[index(from)], rate);
      _slowest_in[index(to)] = std::min(_slowest_in[index(to)], rate);
    }
}

void Groups::find_classes() {
  std::vector<std::vector<char>> member(index(_reach.size()),
                                        std::vector<char>(2 * _reach.trunks.size()));
  for (std::size_t trunk = 0; trunk < _reach.trunks.size(); ++trunk) {
    for (const HostId host : _reach.trunks[trunk].from)
      member[index(host)][2 * trunk] = 1;
    for (const HostId host : _reach.trunks[trunk].to)
      member[index(host)][2 * trunk + 1] = 1;
  }
  std::map<std::vector<char>, ClassId> numbers;
  for (HostId host = 0; host < _reach.size(); ++host)
    _class_of.push_back(
        numbers.try_emplace(member[index(host)], static_cast<ClassId>(numbers.size()))
            .first->second);
  _classes = static_cast<ClassId>(numbers.size());
  for (std::size_t trunk = 0; trunk < _reach.trunks.size(); ++trunk) {
    Carrier carrier{{}, {}, _reach.trunks[trunk].capacity};
    for (const auto& [of, number] : numbers) {
      if (of[2 * trunk] != 0) carrier.from.push_back(number);
      if (of[2 * trunk + 1] != 0) carrier.to.push_back(number);
    }
    _carriers.push_back(std::move(carrier));
  }
}

void Groups::add_graphs() {
  const Crossings narrowest(_carriers, _classes, Crossings::no_trunk);
  std::vector<Hub> together = narrowest.hubs(false), separate = narrowest.hubs(true);
  const bool differ = separate.size() > together.size();
  add_graph(narrowest, std::move(together));
  if (!differ) return;
  add_graph(narrowest, std::move(separate));
  if (_carriers.size() > most_preferred_trunks) return;
  for (std::size_t trunk = 0; trunk < _carriers.size(); ++trunk) {
    const Crossings crossings(_carriers, _classes, static_cast<std::int32_t>(trunk));
    add_graph(crossings, crossings.hubs(true));
  }
}

/// Nodes: source, sink; an outgoing and an incoming one per class; two per hub.
void Groups::add_graph(const Crossings& crossings, std::vector<Hub> hubs) {
  const auto out = [](ClassId of) { return 2 + 2 * of; };
  const auto in = [](ClassId of) { return 3 + 2 * of; };
  const auto node = [&](std::size_t hub) { return out(_classes + static_cast<ClassId>(hub)); };
  Graph graph{MaxFlow(node(hubs.size())), {}, {}};
  const auto add = [&](MaxFlow::Node from, MaxFlow::Node to, double capacity) {
    graph.flow.add_arc(from, to);
    graph.capacities.push_back(capacity);
  };
  for (ClassId of = 0; of < _classes; ++of)
    add(0, out(of), 0);
  for (ClassId of = 0; of < _classes; ++of)
    add(in(of), 1, 0);
  number_by_senders(hubs);
  for (const Hub& hub : hubs) {
    add(node(graph.trunks.size()), node(graph.trunks.size()) + 1,
        _carriers[index(hub.trunk)].capacity);
    graph.trunks.push_back(hub.trunk);
  }
  for (ClassId from = 0; from < _classes; ++from)
    for (ClassId to = 0; to < _classes; ++to)
      if (crossings.trunk(from, to) == Crossings::no_trunk)
        add(out(from), in(to), Reach::unlimited);
  // A class sends to trunks in the trunks' order, however their hubs are numbered.
  std::vector<std::size_t> by_trunk(hubs.size());
  std::iota(by_trunk.begin(), by_trunk.end(), 0);
  std::ranges::stable_sort(by_trunk, {}, [&](std::size_t hub) { return hubs[hub].trunk; });
  for (ClassId from = 0; from < _classes; ++from)
    for (const std::size_t hub : by_trunk) {
      if (hubs[hub].sends[index(from)] == 0) continue;
      add(out(from), node(hub), Reach::unlimited);
      for (ClassId to = 0; to < _classes; ++to)
        if (crossings.trunk(from, to) == hubs[hub].trunk)
          add(node(hub) + 1, in(to), Reach::unlimited);
    }
  _graphs.push_back(std::move(graph));
}

Set Groups::set_of(const std::vector<HostId>& hosts) const {
  Set set(index(_reach.size()));
  for (const HostId host : hosts)
    set[index(host)] = 1;
  return set;
}

Groups::Exit Groups::exit(const Set& set) {
  Exit least{Reach::unlimited, {}};
  const std::vector<double> rates = rates_across(set);
  for (Graph& graph : _graphs)
    if (Exit found = exit(graph, set, rates); found.rate < least.rate) least = std::move(found);
  return least;
}

std::vector<double> Groups::rates_across(const Set& set) const {
  const auto inside = static_cast<double>(std::ranges::count(set, 1));
  const double outside = static_cast<double>(_reach.size()) - inside;
  std::vector<double> rates;
  for (HostId host = 0; host < _reach.size(); ++host) {
    const bool sends = set[index(host)] != 0;
    double rate = (sends ? _out : _in)[index(host)];
    // Where even the slowest pairs together carry what the port does they needn't be added up.
    if ((sends ? _slowest_out : _slowest_in)[index(host)] * (sends ? outside : inside) < rate)
      rate = std::min(rate, pairs_across(host, set));
    rates.push_back(rate);
  }
  return rates;
}

double Groups::pairs_across(HostId host, const Set& set) const {
  const char side = set[index(host)];
  double sum = 0;
  for (HostId other = 0; other < _reach.size(); ++other)
    if (set[index(other)] != side)
      sum += side != 0 ? _reach.between(host, other) : _reach.between(other, host);
  return sum;
}

Groups::Exit Groups::exit(Graph& graph, const Set& set, const std::vector<double>& rates) const {
  std::vector<double>& capacities = graph.capacities;
  std::fill_n(capacities.begin(), 2 * _classes, 0.0);
  for (HostId host = 0; host < _reach.size(); ++host) {
    const std::size_t of = index(_class_of[index(host)]);
    capacities[set[index(host)] != 0 ? of : index(_classes) + of] += rates[index(host)];
  }
  double all = 0;
  for (const double capacity : capacities)
    all += finite(capacity);
  all = 2 * all + 1; // more than any cut of limited arcs
  if (graph.flow.solve(0, 1, capacities, all) >= all * (1 - 1e-9)) return {Reach::unlimited, {}};
  // The capacity of a cut limits the rate in any case; the flow leaves out arcs that carry next to
  // nothing beside the largest one.
  double rate = 0;
  bool has_ports = false;
  std::string trunks;
  for (const MaxFlow::Arc arc : graph.flow.min_cut()) {
    const std::size_t ports = 2 * index(_classes);
    rate += capacities[arc];
    has_ports = has_ports || (arc < ports && capacities[arc] > 0);
    if (arc >= ports && arc < ports + graph.trunks.size())
      trunks += "trunk " + _reach.trunks[index(graph.trunks[arc - ports])].name + ", ";
  }
  return {rate, (has_ports ? "" : trunks) + name(set)};
}

std::string Groups::name(const Set& set) const {
  std::vector<HostId> hosts;
  for (HostId host = 0; host < _reach.size(); ++host)
    if (set[index(host)] != 0) hosts.push_back(host);
  const std::string others = std::to_string(index(_reach.size()) - hosts.size()) + " hosts";
  if (hosts.size() == 1) return _reach.path(hosts.front(), others);
  const std::string these =
      _reach.names[index(hosts.front())] + " and " + std::to_string(hosts.size() - 1) + " more";
  return _reach.is_transposed ? others + " -> " + these : these + " -> " + others;
}

void Groups::add_set(const Set& set) {
  const auto count = std::ranges::count(set, 1);
  if (count == 0 || count == _reach.size() || !_known_sets.insert(set).second) return;
  _sets.push_back(set);
  Set others = set;
  for (char& has : others)
    has = has == 0 ? 1 : 0;
  if (_known_sets.insert(others).second) _sets.push_back(std::move(others));
}

void Groups::find_sets() {
  _base = _reach.sites;
  if (_base.size() < 2) {
    _base.assign(index(_classes), {});
    for (HostId host = 0; host < _reach.size(); ++host)
      _base[index(_class_of[index(host)])].push_back(host);
  }
  const auto add = [&](const std::vector<std::size_t>& groups) {
    Set set(index(_reach.size()));
    for (const std::size_t group : groups)
      for (const HostId host : _base[group])
        set[index(host)] = 1;
    add_set(set);
  };
  for (std::size_t a = 0; a < _base.size(); ++a) {
    add({a});
    for (std::size_t b = 0; b < a && _base.size() <= 16; ++b)
      add({a, b});
  }
  if (_base.size() <= most_sites_for_all_sets)
    for (std::size_t bits = 1; bits < std::size_t{1} << _base.size(); ++bits) {
      std::vector<std::size_t> groups;
      for (std::size_t group = 0; group < _base.size(); ++group)
        if ((bits >> group & 1) != 0) groups.push_back(group);
      add(groups);
    }
  for (const Reach::Trunk& trunk : _reach.trunks)
    for (const std::vector<HostId>& group : {trunk.from, trunk.to})
      add_set(set_of(group));
  if (_reach.sites.size() < 2 && _reach.pairs.size() > 0) add_halves();
}

void Groups::add_halves() {
  const std::vector<Link> tree = fastest_tree(_reach);
  const auto rate = [&](std::size_t link) { return -tree[link].weight; };
  const double fastest = -std::ranges::min(tree, {}, &Link::weight).weight;
  std::vector<std::size_t> slow; // links, by rate
  for (std::size_t link = 0; link < tree.size(); ++link)
    if (rate(link) < fastest * slow_pair) slow.push_back(link);
  std::ranges::stable_sort(slow, {}, rate);
  if (slow.size() > most_halves) slow.resize(most_halves);
  for (const std::size_t cut : slow) {
    Set half(index(_reach.size()), 1);
    half[index(tree[cut].lower)] = 0;
    for (std::size_t link = cut + 1; link < tree.size(); ++link) // parents come before children
      if (half[index(tree[link].upper)] == 0) half[index(tree[link].lower)] = 0;
    add_set(half);
  }
}

void Groups::add_partition(const Set& alone, const std::vector<std::vector<HostId>>& others) {
  Partition partition;
  std::vector<HostId> rest;
  for (HostId host = 0; host < _reach.size(); ++host)
    if (alone[index(host)] != 0)
      partition.parts.push_back({host});
    else
      rest.push_back(host);
  const std::size_t singles = partition.parts.size();
  if (others.empty() && !rest.empty()) partition.parts.push_back(std::move(rest));
  for (const std::vector<HostId>& group : others) {
    std::vector<HostId> part;
    for (const HostId host : group)
      if (alone[index(host)] == 0) part.push_back(host);
    if (!part.empty()) partition.parts.push_back(std::move(part));
  }
  const std::size_t groups = partition.parts.size() - singles;
  if (partition.parts.size() < 2) return;
  partition.name = _reach.egress_of(
      groups == 0 ? "all " + std::to_string(singles) + " hosts"
                  : std::to_string(groups) + (groups == 1 ? " group" : " groups") + " of hosts");
  if (groups > 0 && singles > 0) partition.name += " and " + std::to_string(singles) + " others";
  _partitions.push_back(std::move(partition));
}

void Groups::find_partitions() {
  const Set none(index(_reach.size())), all(index(_reach.size()), 1);
  add_partition(all, {});
  add_partition(none, _base);
  for (const std::vector<HostId>& group : _base) {
    if (_base.size() < 2 || _base.size() > 16 || group.size() < 2) continue;
    const Set set = set_of(group);
    add_partition(set, {});
    if (_base.size() > 2) add_partition(set, _base);
  }
  add_slow_hosts();
}

void Groups::add_slow_hosts() {
  std::vector<HostId> slowest_first(_out.size());
  std::iota(slowest_first.begin(), slowest_first.end(), 0);
  std::ranges::stable_sort(slowest_first, {}, [&](HostId host) { return _out[index(host)]; });
  Set set(_out.size());
  std::size_t added = 0;
  for (std::size_t i = 0; i + 1 < slowest_first.size() && added < most_slow_sets; ++i) {
    set[index(slowest_first[i])] = 1;
    const double own = _out[index(slowest_first[i])], next = _out[index(slowest_first[i + 1])];
    if (i == 0 || next < own * speed_step) continue;
    add_partition(set, {});
    ++added;
  }
}

double Groups::nearest_outside(const Set& set) const {
  double nearest = Reach::unlimited;
  for (HostId from = 0; from < _reach.size(); ++from) {
    if (set[index(from)] == 0) continue;
    if (!_reach.is_small()) nearest = std::min(nearest, _reach.nearest_out[index(from)]);
    for (HostId to = 0; to < _reach.size() && _reach.is_small(); ++to)
      if (set[index(to)] == 0) nearest = std::min(nearest, _reach.latency(from, to));
  }
  return nearest;
}

std::vector<Window> Groups::leaving(const Partition& partition, const Distances& opens) {
  std::vector<Window> windows;
  for (const std::vector<HostId>& part : partition.parts) {
    double open = Reach::unlimited;
    for (const HostId host : part)
      open = std::min(open, opens[index(host)]);
    const Set set = set_of(part);
    const double rate = part.size() > 1 ? exit(set).rate : _out[index(part.front())];
    windows.push_back({rate, open + nearest_outside(set)});
  }
  return windows;
}

} // namespace thalweg::bounds
