#include "lab/fabric.hpp"

#include "units/mix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace thalweg::lab {
namespace {

double ns_per_byte(Rate rate) { return std::isinf(rate.value()) ? 0.0 : 1e9 / rate.value(); }

/// Rounded up, so that a rate is never exceeded.
Instant service_time(double ns_per_byte, std::int32_t size) {
  return static_cast<Instant>(std::ceil(ns_per_byte * size));
}

std::optional<Instant> earlier(std::optional<Instant> a, std::optional<Instant> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

bool contains(const std::vector<HostId>& hosts, HostId host) {
  return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

} // namespace

Instant to_instant(Time time) { return static_cast<Instant>(std::llround(time.value() * 1e9)); }

Fabric::Fabric(const Scenario& scenario) : _timeline(scenario.timeline), _seed(scenario.seed) {
  const auto& network = scenario.network;
  for (const auto& host : network.hosts) {
    _egress.push_back({.ns_per_byte = ns_per_byte(host.egress)});
    _ingress.push_back(
        {.ns_per_byte = ns_per_byte(host.ingress), .limit = scenario.queues.ingress});
  }
  for (const auto& trunk : network.trunks)
    _trunks.push_back({.ns_per_byte = ns_per_byte(trunk.capacity), .limit = scenario.queues.trunk});
  _trunk_drops.resize(_trunks.size());
  _pairs.resize(_egress.size() * _egress.size());
  for (HostId from = 0; from < network.size(); ++from) {
    for (HostId to = 0; to < network.size(); ++to) {
      auto& entry = pair(from, to);
      entry.latency = to_instant(network.latency(from, to));
      entry.loss = scenario.loss;
      entry.port = {.ns_per_byte = ns_per_byte(network.bandwidth(from, to)),
                    .limit = scenario.queues.pair};
      for (std::uint32_t t = 0; t < network.trunks.size(); ++t)
        if (contains(network.trunks[t].from, from) && contains(network.trunks[t].to, to))
          entry.trunks.push_back(t);
    }
  }
  find_least_latency();
}

void Fabric::submit(const Frame& frame, Instant now) {
  apply_changes(now);
  std::uint32_t id = 0;
  if (_idle_flights.empty()) {
    id = static_cast<std::uint32_t>(_flights.size());
    _flights.emplace_back();
  } else {
    id = _idle_flights.back();
    _idle_flights.pop_back();
  }
  auto& egress = _egress[static_cast<std::size_t>(frame.from)];
  const Instant head = std::max(now, egress.free);
  egress.free = head + service_time(egress.ns_per_byte, frame.size);
  _flights[id] = {.frame = frame, .head = head, .stage = 0};
  schedule(egress.free, id, false);
}

std::optional<Outcome> Fabric::step(Instant now) {
  for (auto at = next(); at && *at <= now; at = next()) {
    if (apply_changes(*at)) continue; // which moves what waits
    auto& events = _leaving.empty() || (!_arriving.empty() && _leaving.top() > _arriving.top())
                       ? _arriving
                       : _leaving;
    const auto event = events.top();
    events.pop();
    auto& flight = _flights[event.flight];
    if (const auto fate = enter_stage(flight, event.flight, event.at)) {
      _idle_flights.push_back(event.flight);
      return Outcome{flight.frame, event.at, *fate};
    }
  }
  return std::nullopt;
}

std::optional<Instant> Fabric::next() const {
  const auto event = earlier(first(_leaving), first(_arriving));
  return event ? earlier(event, next_change()) : event;
}

std::optional<Instant> Fabric::next_delivery() const {
  auto leaving = first(_leaving);
  if (leaving) *leaving += _least_latency;
  const auto delivery = earlier(leaving, first(_arriving));
  return delivery ? earlier(delivery, next_change()) : delivery;
}

std::optional<Instant> Fabric::next_change() const {
  if (!_origin || _next_change == _timeline.size()) return std::nullopt;
  return *_origin + to_instant(_timeline[_next_change].at);
}

std::optional<Instant> Fabric::first(const Events& events) {
  return events.empty() ? std::nullopt : std::optional(events.top().at);
}

void Fabric::schedule(Instant at, std::uint32_t flight, bool arriving) {
  (arriving ? _arriving : _leaving).push({at, _order++, flight});
}

void Fabric::find_least_latency() {
  _least_latency = std::numeric_limits<Instant>::max() / 2;
  for (std::size_t from = 0; from < _egress.size(); ++from)
    for (std::size_t to = 0; to < _egress.size(); ++to)
      if (from != to)
        _least_latency = std::min(_least_latency, _pairs[from * _egress.size() + to].latency);
}

// Stages: 0 the pair's rate, 1..n its trunks, n+1 the wire, n+2 the ingress port, n+3 delivered. A
// flight's stage is the one that it enters next.
std::optional<Fate> Fabric::enter_stage(Flight& flight, std::uint32_t id, Instant at) {
  auto& pair = this->pair(flight.frame.from, flight.frame.to);
  const auto trunks = static_cast<std::uint32_t>(pair.trunks.size());
  const auto stage = flight.stage++;
  if (stage == 0) {
    if (vanishes(pair, flight.frame)) return Fate::lost;
    return pass(pair.port, flight, id, at, Fate::dropped_by_pair);
  }
  if (stage <= trunks) {
    const auto trunk = pair.trunks[stage - 1];
    const auto fate = pass(_trunks[trunk], flight, id, at, Fate::dropped_by_trunk);
    _trunk_drops[trunk] += fate ? 1U : 0U;
    return fate;
  }
  if (stage == trunks + 1) {
    // Frames of a pair stay in order when its latency shrinks.
    pair.last_arrival = std::max(at + pair.latency, pair.last_arrival);
    flight.head += pair.latency;
    schedule(pair.last_arrival, id, true);
    return std::nullopt;
  }
  if (stage == trunks + 2) {
    auto& ingress = _ingress[static_cast<std::size_t>(flight.frame.to)];
    return pass(ingress, flight, id, at, Fate::dropped_by_ingress);
  }
  return Fate::delivered;
}

std::optional<Fate> Fabric::pass(Port& port, Flight& flight, std::uint32_t id, Instant at,
                                 Fate if_full) {
  const auto waiting = static_cast<double>(std::max<Instant>(0, port.free - at));
  if (port.limit > 0 && port.ns_per_byte > 0 &&
      waiting + port.ns_per_byte * flight.frame.size >
          port.ns_per_byte * static_cast<double>(std::max<Size>(port.limit, flight.frame.size)))
    return if_full;
  flight.head = std::max(flight.head, port.free);
  port.free = std::max(at, flight.head + service_time(port.ns_per_byte, flight.frame.size));
  schedule(port.free, id, if_full == Fate::dropped_by_ingress);
  return std::nullopt;
}

bool Fabric::vanishes(Pair& pair, const Frame& frame) const {
  const auto count = pair.frames++;
  if (pair.loss <= 0) return false;
  const auto draw = mix(mix(_seed + index(frame.from, frame.to)) + count);
  return static_cast<double>(draw >> 11U) * 0x1p-53 < pair.loss;
}

Fabric::Port* Fabric::port_of(const Flight& flight) {
  if (flight.stage == 0) return &_egress[static_cast<std::size_t>(flight.frame.from)];
  auto& pair = this->pair(flight.frame.from, flight.frame.to);
  const auto trunks = static_cast<std::uint32_t>(pair.trunks.size());
  const auto stage = flight.stage - 1;
  if (stage == 0) return &pair.port;
  if (stage <= trunks) return &_trunks[pair.trunks[stage - 1]];
  return stage == trunks + 2 ? &_ingress[static_cast<std::size_t>(flight.frame.to)] : nullptr;
}

bool Fabric::apply_changes(Instant until) {
  bool any = false;
  for (auto at = next_change(); at && *at <= until; at = next_change()) {
    while (next_change() == at)
      apply(_timeline[_next_change++], *at);
    move_waiting(*at);
    find_least_latency();
    any = true;
  }
  return any;
}

std::optional<Instant> Fabric::advance(Instant now) {
  apply_changes(now);
  if (!next_change()) return std::nullopt;
  _origin = now - to_instant(_timeline[_next_change].at);
  apply_changes(now);
  return _origin;
}

void Fabric::apply(const Change& change, Instant at) {
  for (const auto from : change.from) {
    for (const auto to : change.to) {
      auto& entry = pair(from, to);
      if (change.latency) entry.latency = to_instant(*change.latency);
      if (change.bandwidth) set_rate(entry.port, *change.bandwidth, at);
      entry.loss = change.loss.value_or(entry.loss);
    }
  }
  for (const auto host : change.hosts) {
    if (change.egress) set_rate(_egress[static_cast<std::size_t>(host)], *change.egress, at);
    if (change.ingress) set_rate(_ingress[static_cast<std::size_t>(host)], *change.ingress, at);
  }
  if (change.trunk && change.capacity) set_rate(_trunks[*change.trunk], *change.capacity, at);
}

void Fabric::set_rate(Port& port, Rate rate, Instant at) {
  const double before = std::exchange(port.ns_per_byte, ns_per_byte(rate));
  if (port.free <= at || before == 0) return;
  port.stretch *= port.ns_per_byte / before;
  _changed.push_back(&port);
}

void Fabric::move_waiting(Instant at) {
  if (_changed.empty()) return;
  const auto moved = [at](Instant time, double stretch) {
    const auto wait = static_cast<double>(time - at);
    return wait <= 0 ? time : at + static_cast<Instant>(std::ceil(wait * stretch));
  };
  for (Events* const events : {&_leaving, &_arriving}) {
    for (Event& event : events->items()) {
      auto& flight = _flights[event.flight];
      const Port* const port = port_of(flight);
      if (port == nullptr || port->stretch == 1) continue;
      event.at = moved(event.at, port->stretch);
      flight.head = moved(flight.head, port->stretch);
    }
    events->reorder();
  }
  for (Port* const port : _changed)
    port->free = moved(port->free, std::exchange(port->stretch, 1));
  _changed.clear();
}

} // namespace thalweg::lab
