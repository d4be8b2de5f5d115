#include "simulator/max_min.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace thalweg::simulator {

namespace {
constexpr double unlimited = std::numeric_limits<double>::infinity();
/// Rates this close are equal: otherwise rounding would split rounds.
constexpr double tolerance = 1 + 1e-12;
/// The rounding of a capacity or rate, summed over many flows, relative to it.
constexpr double rounding = 1e-9;

/// Whether a rate exceeds another by more than rounding.
bool is_faster(double rate, double other) { return rate > other * (1 + rounding); }
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
  for (const PortId port_id : flow(id).ports) {
    auto& flows = port(port_id).flows;
    std::swap(*std::ranges::find(flows, id), flows.back());
    flows.pop_back();
    for (const FlowId other : flows)
      if (flow(other).held_by == port_id) reach(other);
  }
  if (flow(id).reached) std::erase(_reached, id);
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
}

void MaxMin::reach_further() {
  for (const PortId id : _seen)
    reach_from(id);
  close_ports();
}

void MaxMin::reach_from(PortId id) {
  if (!port(id).scarce && port(id).held == 0) return;
  double carried = 0, fastest = 0, held = unlimited;
  for (const FlowId each : port(id).flows) {
    const Flow& f = flow(each);
    carried += f.rate;
    if (!f.reached) continue;
    fastest = std::max(fastest, f.rate);
    if (f.held_by == id) held = std::min(held, f.rate);
  }
  const bool has_room = is_faster(capacity(id), carried);
  for (const FlowId each : port(id).flows) {
    const Flow& f = flow(each);
    if (f.reached) continue;
    if (is_faster(f.rate, held) || (f.held_by == id && (has_room || is_faster(fastest, f.rate))))
      reach(each);
  }
}

void MaxMin::fill() {
  open_ports();
  _open.clear();
  _filling.clear();
  std::ranges::copy_if(_seen, std::back_inserter(_filling),
                       [&](PortId id) { return port(id).scarce; });
  for (const FlowId id : _reached) {
    Flow& f = flow(id);
    hold(f, none);
    if (std::ranges::any_of(f.ports, [&](PortId each) { return port(each).scarce; }))
      _open.push_back(id);
    else
      f.rate = f.limit;
  }
  while (!_open.empty())
    stop_slowest();
}

void MaxMin::open_ports() {
  for (const FlowId id : _reached)
    for (const PortId each : flow(id).ports) {
      if (port(each).seen) continue;
      port(each).seen = true;
      _seen.push_back(each);
    }
  for (const PortId id : _seen) {
    Port& p = port(id);
    double wanted = 0;
    p.left = capacity(id);
    p.open = 0;
    for (const FlowId each : p.flows) {
      const Flow& f = flow(each);
      p.open += f.reached ? 1 : 0;
      (f.reached ? wanted : p.left) += f.reached ? f.limit : -f.rate;
    }
    p.scarce = wanted > p.left;
  }
}

void MaxMin::close_ports() {
  for (const PortId id : _seen)
    port(id).seen = false;
  _seen.clear();
}

void MaxMin::stop_slowest() {
  double level = unlimited;
  std::erase_if(_filling, [&](PortId id) { return port(id).open == 0; });
  for (const PortId id : _filling) {
    Port& p = port(id);
    p.share = std::max(0.0, p.left) / p.open;
    level = std::min(level, p.share);
  }
  for (const FlowId id : _open)
    level = std::min(level, flow(id).limit);

  // The flows that stop here are chosen before any of them changes a port's share.
  const double threshold = level * tolerance;
  const auto goes_on = [&](FlowId id) {
    Flow& f = flow(id);
    if (f.limit <= threshold) return false;
    hold(f, full_port(f, threshold));
    return f.held_by == none;
  };
  const auto stopped = std::stable_partition(_open.begin(), _open.end(), goes_on);
  std::for_each(stopped, _open.end(), [&](FlowId id) {
    Flow& f = flow(id);
    f.rate = std::min(level, f.limit);
    for (const PortId each : f.ports) {
      port(each).left -= f.rate;
      --port(each).open;
    }
  });
  _open.erase(stopped, _open.end());
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
