#include "bounds/cut.hpp"

#include "bounds/reason.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace thalweg::bounds {
namespace {

/// The most arcs of all graphs together; each graph has about hosts * (hosts + trunks).
constexpr std::size_t most_arcs = std::size_t{1} << 20U;

/// Returns "egress of a, ingress of b and 3 more".
std::string join(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t at = 0; at < std::min(names.size(), most); ++at)
    text += (at == 0 ? "" : ", ") + names[at];
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

/// Returns the trunks with the least capacity per pair of hosts: as many as there may be graphs.
std::vector<std::int32_t> scarcest(const Reach& reach) {
  std::vector<std::int32_t> trunks(reach.trunks.size());
  std::iota(trunks.begin(), trunks.end(), 0);
  const std::size_t hosts = index(reach.size());
  const std::size_t most = std::max(std::size_t{8}, most_arcs / (hosts * (hosts + trunks.size())));
  if (trunks.size() <= most) return trunks;
  std::ranges::stable_sort(trunks, {}, [&](std::int32_t each) {
    const Reach::Trunk& trunk = reach.trunks[index(each)];
    return trunk.capacity / static_cast<double>(trunk.from.size() * trunk.to.size());
  });
  trunks.resize(most);
  return trunks;
}

} // namespace

Cuts::Cuts(const Reach& reach) : _reach(reach) {
  network::Matrix<std::int32_t> crossed(index(reach.size()));
  bool several = false;
  for (const Reach::Trunk& trunk : reach.trunks)
    for (const HostId from : trunk.from)
      for (const HostId to : trunk.to)
        several |= ++crossed(from, to) > 1;
  const std::vector<std::int32_t> preferred = several ? scarcest(reach) : std::vector{-1};
  for (const std::int32_t trunk : preferred)
    for (const bool separate : {false, true})
      if (several || !separate) add_graph(trunk, separate);
}

void Cuts::add_graph(std::int32_t preferred_trunk, bool separate) {
  const HostId hosts = _reach.size();
  const auto trunks = static_cast<std::int32_t>(_reach.trunks.size());
  const auto out = [&](HostId host) { return hosts + host; };
  const auto in = [&](HostId host) { return 2 * hosts + host; };
  // The trunk that counts for a pair's data: the preferred one, else the narrowest.
  network::Matrix<std::int32_t> trunk_of(index(hosts), -1);
  std::vector<std::int32_t> by_capacity(index(trunks));
  std::iota(by_capacity.begin(), by_capacity.end(), 0);
  std::ranges::stable_sort(by_capacity, [&](std::int32_t a, std::int32_t b) {
    if ((a == preferred_trunk) != (b == preferred_trunk)) return a == preferred_trunk;
    return _reach.trunks[index(a)].capacity < _reach.trunks[index(b)].capacity;
  });
  std::vector<Hub> hubs;
  for (const std::int32_t trunk : by_capacity) {
    std::map<std::vector<char>, std::vector<char>> senders; // by receivers
    std::vector<char> sends(index(hosts)), receives(index(hosts));
    for (const HostId from : _reach.trunks[index(trunk)].from) {
      std::vector<char> own(index(hosts));
      for (const HostId to : _reach.trunks[index(trunk)].to)
        if (trunk_of(from, to) < 0) {
          trunk_of(from, to) = trunk;
          sends[index(from)] = receives[index(to)] = own[index(to)] = 1;
        }
      senders.try_emplace(std::move(own), index(hosts)).first->second[index(from)] = 1;
    }
    senders.erase(std::vector<char>(index(hosts)));
    if (!separate || senders.size() == 1)
      hubs.push_back({trunk, std::move(sends), std::move(receives), {}});
    else
      for (const auto& [to, from] : senders)
        hubs.push_back({trunk, from, to, {}});
  }
  if (separate && hubs.size() <= index(trunks)) return;

  const MaxFlow::Node sink = 3 * hosts + 2 * static_cast<MaxFlow::Node>(hubs.size());
  for (Hub& hub : hubs)
    add_latencies(hub);
  Graph graph{MaxFlow(sink + 1), sink, {}, std::move(hubs)};
  const auto add = [&](MaxFlow::Node from, MaxFlow::Node to, Resource resource) {
    graph.flow.add_arc(from, to);
    graph.resources.push_back(std::move(resource));
  };
  for (HostId host = 0; host < hosts; ++host) {
    const std::string& name = _reach.names[index(host)];
    add(host, out(host),
        {_reach.egress_of(name), _reach.egress[index(host)], host, host, -1, -1, true});
    add(in(host), host, {_reach.ingress_of(name), _reach.ingress[index(host)], host, host, -1, -1});
  }
  for (std::size_t i = 0; i < graph.hubs.size(); ++i) {
    const Hub& each = graph.hubs[i];
    const Reach::Trunk& t = _reach.trunks[index(each.trunk)];
    const MaxFlow::Node hub = 3 * hosts + 2 * static_cast<MaxFlow::Node>(i);
    add(hub, hub + 1,
        {"trunk " + t.name, t.capacity, -1, -1, each.trunk, static_cast<std::int32_t>(i)});
    for (HostId host = 0; host < hosts; ++host) {
      if (each.sends[index(host)])
        add(out(host), hub, {"", Reach::unlimited, host, -1, each.trunk, -1});
      if (each.receives[index(host)])
        add(hub + 1, in(host), {"", Reach::unlimited, -1, host, each.trunk, -1});
    }
  }
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      if (from == to || trunk_of(from, to) >= 0) continue;
      const double capacity = _reach.pair(from, to);
      std::string name;
      if (capacity < Reach::unlimited) name = "pair " + _reach.path(from, to);
      add(out(from), in(to), {std::move(name), capacity, from, to, -1, -1});
    }
  for (HostId host = 0; host < hosts; ++host)
    graph.flow.add_arc(host, sink);
  _graphs.push_back(std::move(graph));
}

void Cuts::add_latencies(Hub& hub) const {
  hub.latency.assign(index(_reach.size()), Reach::unlimited);
  for (HostId from = 0; from < _reach.size(); ++from)
    for (HostId to = 0; to < _reach.size() && hub.sends[index(from)]; ++to) {
      if (from == to || !hub.receives[index(to)]) continue;
      double& least = hub.latency[index(_reach.is_transposed ? from : to)];
      least = std::min(least, _reach.latency(from, to));
    }
}

Cuts::Ends Cuts::ends_of(const Demand& demand) const {
  const Distances none(index(_reach.size()), Reach::unlimited);
  Ends ends{_reach.distances_from(demand.source), none, none};
  for (HostId sink = 0; sink < _reach.size(); ++sink) {
    if (demand.bytes[index(sink)] <= 0) continue;
    for (HostId host = 0; host < _reach.size(); ++host) {
      const double distance = _reach.distance(host, sink);
      ends.after[index(host)] = std::min(ends.after[index(host)], distance);
      if (host != sink)
        ends.after_leaving[index(host)] = std::min(ends.after_leaving[index(host)], distance);
    }
  }
  return ends;
}

/// Returns the part of the time in which no data that counts can pass the resource.
double Cuts::latency_of(const Graph& graph, const Resource& resource, const Ends& ends) const {
  const auto before = [&](HostId host) { return ends.before[index(host)]; };
  const auto after = [&](HostId host) { return ends.after[index(host)]; };
  if (resource.hub >= 0) return latency_of(graph.hubs[index(resource.hub)], ends);
  if (resource.trunk < 0 && resource.from == resource.to)
    return before(resource.from) +
           (resource.sends ? ends.after_leaving[index(resource.from)] : after(resource.from));
  if (resource.trunk < 0)
    return before(resource.from) + _reach.latency(resource.from, resource.to) + after(resource.to);
  const Reach::Trunk& trunk = _reach.trunks[index(resource.trunk)];
  double nearest_before = Reach::unlimited, nearest_after = Reach::unlimited;
  if (resource.to >= 0) {
    for (const HostId from : trunk.from)
      if (from != resource.to)
        nearest_before = std::min(nearest_before, before(from) + _reach.latency(from, resource.to));
    return nearest_before + after(resource.to);
  }
  for (const HostId to : trunk.to)
    if (to != resource.from)
      nearest_after = std::min(nearest_after, _reach.latency(resource.from, to) + after(to));
  return before(resource.from) + nearest_after;
}

double Cuts::latency_of(const Hub& hub, const Ends& ends) const {
  const bool backwards = _reach.is_transposed;
  double before = Reach::unlimited, after = Reach::unlimited;
  for (std::size_t host = 0; host < hub.sends.size(); ++host) {
    if (hub.sends[host])
      before = std::min(before, ends.before[host] + (backwards ? hub.latency[host] : 0));
    if (hub.receives[host])
      after = std::min(after, ends.after[host] + (backwards ? 0 : hub.latency[host]));
  }
  return before + after;
}

Cuts::Result Cuts::exceed(double time, HostId source, HostId sink, double bytes) {
  Demand demand{source, std::vector<double>(index(_reach.size())), _reach.path(source, sink)};
  demand.bytes[index(sink)] = bytes;
  return exceed(time, demand);
}

Cuts::Result Cuts::exceed(double time, const Demand& demand) {
  const double all = std::accumulate(demand.bytes.begin(), demand.bytes.end(), 0.0);
  Result result{time, {}};
  if (all <= 0) return result;
  const Ends ends = ends_of(demand);
  for (Graph& graph : _graphs) {
    std::vector<Window> windows;
    windows.reserve(graph.resources.size());
    for (const Resource& resource : graph.resources)
      windows.push_back({resource.capacity, latency_of(graph, resource, ends)});
    std::vector<double> capacities(windows.size());
    capacities.insert(capacities.end(), demand.bytes.begin(), demand.bytes.end());
    for (;;) {
      for (std::size_t arc = 0; arc < windows.size(); ++arc) {
        // A resource that is unlimited and opens right now must not be in the cut, which would then
        // not exceed.
        const double open = result.time * (1 + least_gain) - windows[arc].latency;
        capacities[arc] = open > 0 ? open * windows[arc].capacity : 0;
      }
      if (graph.flow.solve(demand.source, graph.sink, capacities, all) >= all * (1 - least_gain))
        break;
      double bytes = all;
      std::vector<Window> cut;
      const std::vector<MaxFlow::Arc> arcs = graph.flow.min_cut();
      for (const MaxFlow::Arc arc : arcs)
        if (arc < windows.size())
          cut.push_back(windows[arc]);
        else // The cut leaves this sink on the source's side.
          bytes -= capacities[arc];
      const double next = least_time(cut, bytes);
      if (next <= result.time * (1 + least_gain)) break;
      result = {next, describe(graph, arcs, windows, demand, bytes, next)};
    }
  }
  return result;
}

std::string Cuts::describe(const Graph& graph, const std::vector<MaxFlow::Arc>& cut,
                           const std::vector<Window>& windows, const Demand& demand, double bytes,
                           double time) const {
  std::vector<std::string> names;
  double rate = 0;
  for (const MaxFlow::Arc arc : cut)
    if (arc < windows.size() && !graph.resources[arc].name.empty() && windows[arc].latency < time) {
      names.push_back(graph.resources[arc].name);
      rate += windows[arc].capacity;
    }
  if (names.empty()) return "latency " + demand.path + ": " + units::to_text(units::Time(time));
  return bounds::reason(join(names) + ", " + demand.path, bytes, rate, time);
}

} // namespace thalweg::bounds
