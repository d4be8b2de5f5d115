#include "bounds/cut.hpp"

#include "bounds/reason.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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
  std::vector<Carrier> carriers;
  network::Matrix<std::int32_t> crossed(index(reach.size()));
  bool several = false;
  for (const Reach::Trunk& trunk : reach.trunks) {
    carriers.push_back({trunk.from, trunk.to, trunk.capacity});
    for (const HostId from : trunk.from)
      for (const HostId to : trunk.to)
        several |= ++crossed(from, to) > 1;
  }
  for (const std::int32_t preferred :
       several ? scarcest(reach) : std::vector{Crossings::no_trunk}) {
    const Crossings crossings(carriers, reach.size(), preferred);
    add_graph(crossings, crossings.hubs(false));
    if (!several) continue;
    std::vector<Hub> separate = crossings.hubs(true);
    if (separate.size() > carriers.size()) add_graph(crossings, std::move(separate));
  }
}

/// Nodes: for each host its data, its egress and its ingress; for each hub where data enters and
/// leaves it; the sink.
void Cuts::add_graph(const Crossings& crossings, std::vector<Hub> hubs) {
  const MaxFlow::Node sink = hub_node(hubs.size());
  Graph graph{MaxFlow(sink + 1), sink, {}, std::move(hubs), {}};
  add_ports(graph);
  add_hubs(crossings, graph);
  add_pairs(crossings, graph);
  for (HostId host = 0; host < _reach.size(); ++host)
    graph.flow.add_arc(host, sink);
  _graphs.push_back(std::move(graph));
}

void Cuts::Graph::add(MaxFlow::Node from, MaxFlow::Node to, Resource resource) {
  flow.add_arc(from, to);
  resources.push_back(std::move(resource));
}

void Cuts::add_ports(Graph& graph) const {
  for (HostId host = 0; host < _reach.size(); ++host) {
    const std::string& name = _reach.names[index(host)];
    graph.add(host, out(host),
              {.name = _reach.egress_of(name),
               .capacity = _reach.egress[index(host)],
               .from = host,
               .to = host,
               .sends = true});
    graph.add(in(host), host,
              {.name = _reach.ingress_of(name),
               .capacity = _reach.ingress[index(host)],
               .from = host,
               .to = host});
  }
}

void Cuts::add_hubs(const Crossings& crossings, Graph& graph) const {
  for (std::size_t i = 0; i < graph.hubs.size(); ++i) {
    const Hub& hub = graph.hubs[i];
    const Reach::Trunk& trunk = _reach.trunks[index(hub.trunk)];
    const MaxFlow::Node entry = hub_node(i), exit = entry + 1;
    graph.latencies.push_back(latencies_of(hub));
    graph.add(entry, exit,
              {.name = "trunk " + trunk.name,
               .capacity = trunk.capacity,
               .trunk = hub.trunk,
               .hub = static_cast<std::int32_t>(i)});
    for (HostId host = 0; host < _reach.size(); ++host) {
      if (hub.sends[index(host)] != 0)
        graph.add(out(host), entry, pairs_through(crossings, hub, host, true));
      if (hub.receives[index(host)] != 0)
        graph.add(exit, in(host), pairs_through(crossings, hub, host, false));
    }
  }
}

Cuts::Resource Cuts::pairs_through(const Crossings& crossings, const Hub& hub, HostId host,
                                   bool sends) const {
  Resource resource{.capacity = 0, .trunk = hub.trunk};
  (sends ? resource.from : resource.to) = host;
  for (HostId other = 0; other < _reach.size(); ++other) {
    const HostId from = sends ? host : other, to = sends ? other : host;
    if (from != to && hub.sends[index(from)] != 0 && hub.receives[index(to)] != 0 &&
        crossings.trunk(from, to) == hub.trunk)
      resource.capacity += _reach.pair(from, to);
  }
  if (resource.capacity == Reach::unlimited) return resource;
  const std::string trunk = "trunk " + _reach.trunks[index(hub.trunk)].name;
  const std::string& name = _reach.names[index(host)];
  resource.name = "pairs " + (sends ? _reach.path(name, trunk) : _reach.path(trunk, name));
  return resource;
}

void Cuts::add_pairs(const Crossings& crossings, Graph& graph) const {
  for (HostId from = 0; from < _reach.size(); ++from)
    for (HostId to = 0; to < _reach.size(); ++to) {
      if (from == to || crossings.trunk(from, to) != Crossings::no_trunk) continue;
      const double capacity = _reach.pair(from, to);
      std::string name;
      if (capacity < Reach::unlimited) name = "pair " + _reach.path(from, to);
      graph.add(out(from), in(to),
                {.name = std::move(name), .capacity = capacity, .from = from, .to = to});
    }
}

Distances Cuts::latencies_of(const Hub& hub) const {
  Distances latencies(index(_reach.size()), Reach::unlimited);
  for (HostId from = 0; from < _reach.size(); ++from)
    for (HostId to = 0; to < _reach.size() && hub.sends[index(from)] != 0; ++to) {
      if (from == to || hub.receives[index(to)] == 0) continue;
      double& least = latencies[index(_reach.is_transposed ? from : to)];
      least = std::min(least, _reach.latency(from, to));
    }
  return latencies;
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
  if (resource.hub >= 0)
    return latency_of(graph.hubs[index(resource.hub)], graph.latencies[index(resource.hub)], ends);
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

double Cuts::latency_of(const Hub& hub, const Distances& latencies, const Ends& ends) const {
  const bool backwards = _reach.is_transposed;
  double before = Reach::unlimited, after = Reach::unlimited;
  for (std::size_t host = 0; host < latencies.size(); ++host) {
    if (hub.sends[host] != 0)
      before = std::min(before, ends.before[host] + (backwards ? latencies[host] : 0));
    if (hub.receives[host] != 0)
      after = std::min(after, ends.after[host] + (backwards ? 0 : latencies[host]));
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
