#include "simulator/max_min.hpp"

#include <algorithm>
#include <limits>

namespace thalweg::simulator {

namespace {
/// Rates this close are one: keeps rounding from making two rounds of one.
constexpr double tolerance = 1 + 1e-12;
} // namespace

MaxMin::MaxMin(std::span<const double> capacities)
    : _capacities(capacities), _loads(capacities.size()) {}

void MaxMin::solve(std::span<Flow> flows) {
  load(flows);
  while (!_open.empty()) {
    double level = std::numeric_limits<double>::infinity();
    for (const PortId port : _used) {
      Load& load = at(port);
      load.share = load.flows > 0 ? std::max(0.0, load.left) / load.flows
                                  : std::numeric_limits<double>::infinity();
      level = std::min(level, load.share);
    }
    for (const std::size_t i : _open)
      level = std::min(level, flows[i].limit);

    // Which flows stop here is decided before any of them changes a port's share.
    const double threshold = level * tolerance;
    const auto stops = [&](std::size_t i) {
      return flows[i].limit <= threshold ||
             std::any_of(flows[i].ports.begin(), flows[i].ports.end(), [&](PortId port) {
               return at(port).scarce && at(port).share <= threshold;
             });
    };
    const auto stopped =
        std::stable_partition(_open.begin(), _open.end(), [&](std::size_t i) { return !stops(i); });
    std::for_each(stopped, _open.end(), [&](std::size_t i) {
      flows[i].rate = std::min(level, flows[i].limit);
      for (const PortId port : flows[i].ports) {
        if (!at(port).scarce) continue;
        at(port).left -= flows[i].rate;
        --at(port).flows;
      }
    });
    _open.erase(stopped, _open.end());
  }
}

void MaxMin::load(std::span<Flow> flows) {
  for (const PortId port : _used)
    at(port) = {};
  _used.clear();
  _open.clear();
  for (const Flow& flow : flows)
    for (const PortId port : flow.ports) {
      Load& load = at(port);
      load.wanted += flow.limit;
      if (load.flows++ == 0) _used.push_back(port);
    }
  for (const PortId port : _used) {
    at(port).left = _capacities[static_cast<std::size_t>(port)];
    at(port).scarce = at(port).wanted > at(port).left;
  }
  for (std::size_t i = 0; i < flows.size(); ++i) {
    Flow& flow = flows[i];
    if (std::any_of(flow.ports.begin(), flow.ports.end(),
                    [&](PortId port) { return at(port).scarce; }))
      _open.push_back(i);
    else
      flow.rate = flow.limit;
  }
  std::erase_if(_used, [&](PortId port) {
    if (at(port).scarce) return false;
    at(port) = {};
    return true;
  });
}

} // namespace thalweg::simulator
