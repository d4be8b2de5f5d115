#include "simulator/max_min.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace thalweg::simulator {

namespace {
constexpr double no_limit = std::numeric_limits<double>::infinity();
/// Rates this close are equal: otherwise rounding would split rounds.
constexpr double same_rate = 1 + 1e-12;
/// The rounding of a capacity or rate, summed over many flows, relative to it.
constexpr double capacity_rounding = 1e-9;

/// Whether a rate exceeds another by more than rounding.
bool is_faster(double rate, double other) { return rate > other * (1 + capacity_rounding); }
} // namespace

MaxMin::MaxMin(std::span<const double> capacities, std::size_t flows)
    : _capacities(capacities), _flows(flows), _ports(capacities.size()) {}

void MaxMin::add(FlowId id, double limit, std::span<const PortId> ports) {
  flow(id).limit = limit;
  flow(id).ports = ports;
  for (const PortId port_id : ports)
    port(port_id).flows.push_back(id);
  reach(id);
}

void MaxMin::remove(FlowId id) {
  hold(flow(id), none);
  if (flow(id).reached) {
    std::erase(_reached, id);
  } else { // Its ports no longer carry it.
    reach(id);
    _reached.pop_back();
  }
  for (const PortId port_id : flow(id).ports) {
    Port& p = port(port_id);
    --p.reached;
    std::swap(*std::ranges::find(p.flows, id), p.flows.back());
    p.flows.pop_back();
    if (p.held == 0) continue;
    for (const FlowId other : p.flows)
      if (flow(other).held_by == port_id) reach(other);
  }
  flow(id) = {};
}

std::span<const MaxMin::FlowId> MaxMin::solve() {
  _changed.clear();
  for (std::size_t filled = 0; filled < _reached.size();) {
    filled = _reached.size();
    fill();
    reach_further();
  }
  for (const FlowId id : _reached) {
    Flow& f = flow(id);
    if (f.rate != f.old_rate) _changed.push_back(id);
    f.reached = false;
    for (const PortId each : f.ports) {
      port(each).carried += f.rate;
      --port(each).reached;
    }
  }
  _reached.clear();
  return _changed;
}

void MaxMin::reach(FlowId id) {
  Flow& f = flow(id);
  if (f.reached) return;
  f.reached = true;
  f.old_rate = f.rate;
  _reached.push_back(id);
  for (const PortId each : f.ports) {
    Port& p = port(each);
    ++p.reached;
    // A port all of whose flows are reached carries nothing else: rounding doesn't add up.
    p.carried = p.reached == std::ssize(p.flows) ? 0 : p.carried - f.rate;
    p.granted += f.rate;
  }
}

void MaxMin::reach_further() {
  for (const FlowId id : _reached) {
    const Flow& f = flow(id);
    for (const PortId each : f.ports) {
      Port& p = port(each);
      p.granted += f.rate;
      p.fastest = std::max(p.fastest, f.rate);
      if (f.held_by == each) p.slowest_held = std::min(p.slowest_held, f.rate);
    }
  }
  for (const PortId id : _seen)
    reach_from(id);
  close_ports();
}

void MaxMin::reach_from(PortId id) {
  const Port& p = port(id);
  if (p.held == 0 || p.reached == std::ssize(p.flows)) return;
  const bool has_room = is_faster(capacity(id), p.carried + p.granted);
  for (const FlowId each : p.flows) {
    const Flow& f = flow(each);
    if (f.reached) continue;
    if (is_faster(f.rate, p.slowest_held) ||
        (f.held_by == id && (has_room || is_faster(p.fastest, f.rate))))
      reach(each);
  }
}

void MaxMin::fill() {
  open_ports();
  _open = 0;
  _filling.clear();
  std::ranges::copy_if(_seen, std::back_inserter(_filling),
                       [&](PortId id) { return port(id).scarce; });
  for (const FlowId id : _reached) {
    Flow& f = flow(id);
    hold(f, none);
    f.open = std::ranges::any_of(f.ports, [&](PortId each) { return port(each).scarce; });
    if (f.open)
      ++_open;
    else
      f.rate = f.limit;
  }
  find_lowest_limit();
  while (_open > 0)
    stop_slowest();
}

void MaxMin::find_lowest_limit() {
  _lowest_limit = no_limit;
  for (const FlowId id : _reached)
    if (flow(id).open) _lowest_limit = std::min(_lowest_limit, flow(id).limit);
}

void MaxMin::open_ports() {
  for (const FlowId id : _reached)
    for (const PortId each : flow(id).ports) {
      Port& p = port(each);
      if (!p.seen) {
        p.seen = true;
        p.wanted = p.granted = p.fastest = 0;
        p.slowest_held = no_limit;
        _seen.push_back(each);
      }
      p.wanted += flow(id).limit;
    }
  for (const PortId id : _seen) {
    Port& p = port(id);
    p.left = capacity(id) - p.carried;
    p.open = p.reached;
    p.scarce = p.wanted > p.left;
  }
}

void MaxMin::close_ports() {
  for (const PortId id : _seen)
    port(id).seen = false;
  _seen.clear();
}

void MaxMin::stop_slowest() {
  double level = _lowest_limit;
  std::erase_if(_filling, [&](PortId id) { return port(id).open == 0; });
  for (const PortId id : _filling) {
    Port& p = port(id);
    p.share = std::max(0.0, p.left) / p.open;
    level = std::min(level, p.share);
  }
  // The flows that stop here are chosen before any of them changes a port's share.
  const double threshold = level * same_rate;
  _stopped.clear();
  if (_lowest_limit <= threshold) { // It may be that of a flow that a port has stopped since.
    stop_if(_reached, [&](const Flow& f) { return f.limit <= threshold; });
    find_lowest_limit();
  }
  for (const PortId id : _filling)
    if (port(id).share <= threshold) stop_if(port(id).flows, [](const Flow&) { return true; });
  for (const FlowId id : _stopped) {
    Flow& f = flow(id);
    if (f.limit > threshold) hold(f, full_port(f, threshold));
    f.rate = std::min(level, f.limit);
  }
  for (const FlowId id : _stopped)
    for (const PortId each : flow(id).ports) {
      port(each).left -= flow(id).rate;
      --port(each).open;
    }
}

template <class Condition>
void MaxMin::stop_if(std::span<const FlowId> flows, Condition condition) {
  for (const FlowId id : flows) {
    Flow& f = flow(id);
    if (!f.open || !condition(f)) continue;
    f.open = false;
    --_open;
    _stopped.push_back(id);
  }
}

void MaxMin::hold(Flow& flow, PortId id) {
  if (flow.held_by != none) --port(flow.held_by).held;
  flow.held_by = id;
  if (id != none) ++port(id).held;
}

PortId MaxMin::full_port(const Flow& flow, double threshold) {
  const auto found = std::ranges::find_if(
      flow.ports, [&](PortId each) { return port(each).scarce && port(each).share <= threshold; });
  return found != flow.ports.end() ? *found : none;
}

} // namespace thalweg::simulator
