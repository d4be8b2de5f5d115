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
  _used.clear();
  _open.clear();
  for (std::size_t i = 0; i < flows.size(); ++i) {
    _open.push_back(i);
    for (const PortId port : flows[i].ports) {
      Load& load = _loads[static_cast<std::size_t>(port)];
      if (load.flows++ > 0) continue;
      load.left = _capacities[static_cast<std::size_t>(port)];
      _used.push_back(port);
    }
  }
  const auto share = [&](PortId port) {
    const Load& load = _loads[static_cast<std::size_t>(port)];
    return std::max(0.0, load.left) / load.flows;
  };
  while (!_open.empty()) {
    double level = std::numeric_limits<double>::infinity();
    for (const PortId port : _used)
      if (_loads[static_cast<std::size_t>(port)].flows > 0) level = std::min(level, share(port));
    for (const std::size_t i : _open)
      level = std::min(level, flows[i].limit);

    // Which flows stop here is decided before any of them changes a port's share.
    const double threshold = level * tolerance;
    const auto stops = [&](std::size_t i) {
      return flows[i].limit <= threshold ||
             std::any_of(flows[i].ports.begin(), flows[i].ports.end(),
                         [&](PortId port) { return share(port) <= threshold; });
    };
    const auto stopped =
        std::stable_partition(_open.begin(), _open.end(), [&](std::size_t i) { return !stops(i); });
    std::for_each(stopped, _open.end(), [&](std::size_t i) {
      flows[i].rate = std::min(level, flows[i].limit);
      for (const PortId port : flows[i].ports) {
        Load& load = _loads[static_cast<std::size_t>(port)];
        load.left -= flows[i].rate;
        --load.flows;
      }
    });
    _open.erase(stopped, _open.end());
  }
}

} // namespace thalweg::simulator
