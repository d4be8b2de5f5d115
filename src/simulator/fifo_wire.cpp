#include "simulator/fifo_wire.hpp"

#include <algorithm>

namespace thalweg::simulator {

FifoWire::FifoWire(const Ports& ports, const Workload& workload, EventQueue& queue,
                   Traffic* traffic)
    : _ports(ports), _workload(workload), _queue(queue), _traffic(traffic),
      _states(ports.capacities().size()) {
  if (_traffic == nullptr) return;
  _traffic->ports.resize(_states.size());
  for (const auto& pair : workload.connections)
    _connections.push_back(&_traffic->connections[pair]);
}

double FifoWire::serve(PortId port, MessageId message, double size, double begin) {
  const auto at = static_cast<std::size_t>(port);
  PortState& state = _states[at];
  const double first = std::max(state.free, begin), seconds = size / _ports.capacities()[at];
  state.free = _traffic != nullptr ? _traffic->ports[at].occupy(first, seconds) : first + seconds;
  state.last = message;
  return state.free;
}

double FifoWire::send(ConnectionId connection, double bytes, double begin) {
  const double seconds = bytes / _ports.path(connection).bandwidth;
  if (_traffic == nullptr || seconds == 0) return begin + seconds;
  return _connections[static_cast<std::size_t>(connection)]->occupy(begin, seconds);
}

Wire::Start FifoWire::start(ConnectionId connection, MessageId message, double bytes, double now) {
  const Path& path = _ports.path(connection);
  Start start{now};
  if (_traffic != nullptr)
    start.time = _connections[static_cast<std::size_t>(connection)]->free_from(now);
  double left = start.time; // when the last byte leaves
  for (const PortId port : _ports.departure(connection)) {
    const PortState& state = _states[static_cast<std::size_t>(port)];
    if (state.free > start.time) start = {state.free, state.last};
    if (_traffic != nullptr)
      start.time = _traffic->ports[static_cast<std::size_t>(port)].free_from(start.time);
    left = std::max(left, serve(port, message, bytes, start.time));
  }
  left = std::max(left, send(connection, bytes, start.time));
  // A trunk carries many flows at the same time: it delays the last byte, not the first.
  for (const PortId port : _ports.trunks(connection))
    left = std::max(left, serve(port, message, bytes, start.time));
  _queue.push(left, EventKind::sent, message);
  if (_ports.arrival(connection).empty())
    _queue.push(left + path.latency, EventKind::arrived, message);
  else
    _queue.push(start.time + path.latency, EventKind::wire, message, keep(left));
  return start;
}

std::uint32_t FifoWire::keep(double left) {
  if (_free_slots.empty()) {
    _left.push_back(left);
    return static_cast<std::uint32_t>(_left.size() - 1);
  }
  const std::uint32_t slot = _free_slots.back();
  _free_slots.pop_back();
  _left[slot] = left;
  return slot;
}

void FifoWire::handle(const TimedEvent& event) {
  const ConnectionId connection = _workload.of(event.id).connection;
  const double bytes = _workload.size(event.id);
  double end = _left[event.version] + _ports.path(connection).latency;
  _free_slots.push_back(event.version);
  for (const PortId port : _ports.arrival(connection))
    end = std::max(end, serve(port, event.id, bytes, event.time));
  _queue.push(end, EventKind::arrived, event.id);
}

} // namespace thalweg::simulator
