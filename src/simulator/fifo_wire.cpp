#include "simulator/fifo_wire.hpp"

#include <algorithm>

namespace thalweg::simulator {

FifoWire::FifoWire(const Ports& ports, const Workload& workload, EventQueue& queue)
    : _ports(ports), _workload(workload), _queue(queue), _states(ports.capacities().size()),
      _left(workload.sizes.size(), 0) {}

double FifoWire::serve(PortId port, MessageId message, double size, double begin) {
  PortState& state = _states[static_cast<std::size_t>(port)];
  state.free =
      std::max(state.free, begin) + size / _ports.capacities()[static_cast<std::size_t>(port)];
  state.last = message;
  return state.free;
}

Wire::Start FifoWire::start(ConnectionId connection, MessageId message, Size size, double now) {
  const Path& path = _ports.path(connection);
  const auto bytes = static_cast<double>(size);
  Start start{now};
  double left = now; // when the last byte leaves
  for (const PortId port : _ports.departure(connection)) {
    const PortState& state = _states[static_cast<std::size_t>(port)];
    if (state.free > start.time) start = {state.free, state.last};
    left = std::max(left, serve(port, message, bytes, start.time));
  }
  left = std::max(left, start.time + bytes / path.bandwidth);
  // A trunk carries many flows at the same time: it delays the last byte, not the first.
  for (const PortId port : _ports.trunks(connection))
    left = std::max(left, serve(port, message, bytes, start.time));
  _left[static_cast<std::size_t>(message)] = left;
  _queue.push(left, EventKind::sent, message);
  if (_ports.arrival(connection).empty())
    _queue.push(left + path.latency, EventKind::arrived, message);
  else
    _queue.push(start.time + path.latency, EventKind::wire, message);
  return start;
}

void FifoWire::handle(const TimedEvent& event) {
  const ConnectionId connection = _workload.of(event.id).connection;
  const double bytes = static_cast<double>(_workload.sizes[static_cast<std::size_t>(event.id)]);
  double end = _left[static_cast<std::size_t>(event.id)] + _ports.path(connection).latency;
  for (const PortId port : _ports.arrival(connection))
    end = std::max(end, serve(port, event.id, bytes, event.time));
  _queue.push(end, EventKind::arrived, event.id);
}

} // namespace thalweg::simulator
