#include "simulator/fluid_wire.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace thalweg::simulator {

namespace {
/// Packets of an initial window (RFC 6928).
constexpr double packets = 10;
} // namespace

FluidWire::FluidWire(const Ports& ports, Size initial_window, EventQueue& queue)
    : _ports(ports), _narrow_ports(ports), _queue(queue),
      _max_min(ports.capacities(), ports.connections()), _flows(ports.connections()),
      _completions(ports.connections()) {
  for (Flow& flow : _flows)
    flow.window = static_cast<double>(initial_window);
  add_queues();
}

/// Gives hosts to which paths of different latencies lead an ingress queue.
void FluidWire::add_queues() {
  struct Ingress {
    double least = std::numeric_limits<double>::infinity(), most = 0; // latencies
    std::int32_t queue = -1;
  };
  std::map<network::HostId, Ingress> ingresses;
  const auto count = static_cast<ConnectionId>(_ports.connections());
  for (ConnectionId connection = 0; connection < count; ++connection) {
    if (_ports.arrival(connection).empty()) continue;
    const Path& path = _ports.path(connection);
    Ingress& ingress = ingresses[path.to];
    ingress.least = std::min(ingress.least, path.latency);
    ingress.most = std::max(ingress.most, path.latency);
  }
  for (ConnectionId connection = 0; connection < count; ++connection) {
    const auto found = ingresses.find(_ports.path(connection).to);
    if (_ports.arrival(connection).empty() || found->second.least == found->second.most) continue;
    if (found->second.queue < 0) {
      found->second.queue = static_cast<std::int32_t>(_queues.size());
      double capacity = std::numeric_limits<double>::infinity();
      for (const PortId port : _ports.arrival(connection))
        capacity = std::min(capacity, _ports.capacities()[static_cast<std::size_t>(port)]);
      _queues.emplace_back(capacity);
    }
    flow(connection).queue = found->second.queue;
  }
}

Wire::Start FluidWire::start(ConnectionId connection, MessageId message, double size, double now) {
  Flow& f = flow(connection);
  f.message = message;
  f.rest = size;
  burst(connection, now);
  return {now};
}

void FluidWire::handle(const TimedEvent& event) {
  if (event.kind == EventKind::grow)
    burst(event.id, event.time);
  else if (event.kind == EventKind::pass)
    _queue.push(event.time + _queues[event.version].delay(event.time), EventKind::arrived,
                event.id);
  else if (event.version == _awaiting)
    complete_due(event.time);
}

void FluidWire::burst(ConnectionId connection, double now) {
  Flow& f = flow(connection);
  const double round_trip = begin_round(connection, now);
  f.left = is_limited(connection) ? std::min(f.rest, f.credit) : f.rest;
  if (f.left <= 0 && f.rest > 0) { // The window is in flight.
    _queue.push(f.round + round_trip, EventKind::grow, connection);
    return;
  }
  f.rest -= f.left;
  f.credit -= f.left;
  f.since = now;
  f.busy = true;
  touch(connection);
}

double FluidWire::begin_round(ConnectionId connection, double now) {
  Flow& f = flow(connection);
  const Path& path = _ports.path(connection);
  const double round_trip = path.latency + path.answer_latency;
  if (f.round < 0) {
    // The window counts packets. Later small messages will have been merged into full packets.
    f.credit = std::min(f.window, packets * f.rest);
    f.round = now;
  } else if (now >= f.round + round_trip) {
    // TCP's window doubles in each round trip in which data is sent.
    f.spare = 2 * f.credit >= f.window;
    if (f.credit < f.window) f.window *= 2;
    f.credit = f.window;
    f.round = now;
  }
  return round_trip;
}

void FluidWire::complete_due(double now) {
  _awaited = nothing;
  while (!_completions.empty() && _completions.first().time <= now * simultaneous) {
    const auto [time, connection] = _completions.first();
    _completions.remove(connection);
    complete(connection, time);
  }
}

void FluidWire::complete(ConnectionId connection, double now) {
  Flow& f = flow(connection);
  f.busy = false;
  touch(connection);
  if (f.rest > 0) return burst(connection, now);
  _queue.push(now, EventKind::sent, f.message);
  const double arrival = now + _ports.path(connection).latency;
  if (f.queue < 0)
    _queue.push(arrival, EventKind::arrived, f.message);
  else
    _queue.push(arrival, EventKind::pass, f.message, static_cast<std::uint32_t>(f.queue));
}

void FluidWire::settle(double now) {
  for (const ConnectionId connection : _touched) {
    const Flow& f = flow(connection);
    if (f.busy == f.shares) continue;
    if (f.busy) {
      _max_min.add(connection, _ports.path(connection).bandwidth, _narrow_ports.of(connection));
    } else {
      _max_min.remove(connection);
      set_rate(connection, 0, now);
    }
  }
  for (const ConnectionId connection : _max_min.solve())
    change_rate(connection, now);
  for (const ConnectionId connection : _touched) {
    Flow& f = flow(connection);
    f.shares = f.busy;
    f.touched = false;
    if (f.busy) schedule(connection);
  }
  _touched.clear();
  await_next();
}

void FluidWire::await_next() {
  const double next = _completions.empty() ? nothing : _completions.first().time;
  if (next == _awaited) return;
  _awaited = next;
  ++_awaiting;
  if (next < nothing) _queue.push(next, EventKind::wire, 0, _awaiting);
}

void FluidWire::change_rate(ConnectionId connection, double now) {
  Flow& f = flow(connection);
  const double rate = set_rate(connection, _max_min.rate(connection), now);
  if (f.touched) return; // It began to flow now.
  f.left = std::max(0.0, f.left - rate * (now - f.since));
  f.since = now;
  schedule(connection);
}

double FluidWire::set_rate(ConnectionId connection, double rate, double now) {
  Flow& f = flow(connection);
  const double before = std::exchange(f.rate, rate);
  if (f.queue >= 0 && rate != before)
    _queues[static_cast<std::size_t>(f.queue)].change(now + _ports.path(connection).latency,
                                                      rate - before);
  return before;
}

void FluidWire::schedule(ConnectionId connection) {
  const Flow& f = flow(connection);
  _completions.set(connection, f.since + f.left / f.rate);
}

void FluidWire::touch(ConnectionId connection) {
  Flow& f = flow(connection);
  if (f.touched) return;
  f.touched = true;
  _touched.push_back(connection);
}

bool FluidWire::is_steady(ConnectionId connection) const {
  // Windows only grow, and what has filled half of one in a round trip won't fill a larger one.
  return !is_limited(connection) || _flows[static_cast<std::size_t>(connection)].spare;
}

bool FluidWire::is_limited(ConnectionId connection) const {
  const Path& path = _ports.path(connection);
  const double window = _flows[static_cast<std::size_t>(connection)].window;
  return window > 0 && window < path.bandwidth * (path.latency + path.answer_latency);
}

} // namespace thalweg::simulator
