#include "mapping/topology.hpp"

#include <stdexcept>

#ifdef THALWEG_HAS_HWLOC
#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <hwloc.h>

namespace thalweg::mapping {
namespace {

using units::Rate;
using units::Time;

constexpr Time nearest_latency(50e-9);
constexpr double nearest_rate = 8e9; // bytes per second

/// Owns a topology.
class Topology {
public:
  explicit Topology(const std::string& text) {
    if (hwloc_topology_init(&_topology) != 0) throw std::bad_alloc();
    if (!load(text)) {
      hwloc_topology_destroy(_topology);
      throw std::invalid_argument(
          "topology \"" + text +
          "\": must be \"this\" for this machine, a file of lstopo that ends in .xml, or a "
          "description such as \"package:2 core:8\"");
    }
    _depth_of_cores = hwloc_get_type_or_below_depth(_topology, HWLOC_OBJ_CORE);
  }
  ~Topology() { hwloc_topology_destroy(_topology); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// Returns a core for each rank: the first of those that hwloc would give it.
  [[nodiscard]] std::vector<hwloc_obj_t> cores(std::int32_t ranks) const {
    std::vector<hwloc_cpuset_t> sets(index(ranks));
    hwloc_obj_t root = hwloc_get_root_obj(_topology);
    hwloc_distrib(_topology, &root, 1, sets.data(), static_cast<unsigned>(ranks), _depth_of_cores,
                  0);
    std::vector<hwloc_obj_t> found;
    for (const hwloc_cpuset_t set : sets) {
      found.push_back(first_core(set));
      hwloc_bitmap_free(set);
    }
    return found;
  }

  /// Returns the depth of the lowest part of the host that has both cores.
  [[nodiscard]] int common_depth(hwloc_obj_t a, hwloc_obj_t b) const {
    return a == b ? a->depth : hwloc_get_common_ancestor_obj(_topology, a, b)->depth;
  }

private:
  bool load(const std::string& text) {
    if (text.empty()) return false;
    if (text.ends_with(".xml")) {
      if (hwloc_topology_set_xml(_topology, text.c_str()) != 0) return false;
    } else if (text != "this") {
      const std::string whole = text.find("pu:") == std::string::npos ? text + " pu:1" : text;
      if (hwloc_topology_set_synthetic(_topology, whole.c_str()) != 0) return false;
    }
    return hwloc_topology_load(_topology) == 0;
  }

  /// Returns the first core of a set of processors.
  [[nodiscard]] hwloc_obj_t first_core(hwloc_const_cpuset_t set) const {
    for (hwloc_obj_t core = nullptr;
         (core = hwloc_get_next_obj_by_depth(_topology, _depth_of_cores, core)) != nullptr;)
      if (hwloc_bitmap_intersects(core->cpuset, set) != 0) return core;
    return hwloc_get_root_obj(_topology);
  }

  hwloc_topology_t _topology = nullptr;
  int _depth_of_cores = 0;
};

Core core_of(hwloc_obj_t object) {
  Core core{static_cast<std::int32_t>(object->logical_index), {}};
  for (int processor = hwloc_bitmap_first(object->cpuset); processor >= 0;
       processor = hwloc_bitmap_next(object->cpuset, processor))
    core.processors.push_back(processor);
  return core;
}

} // namespace

bool has_hwloc() { return true; }

Inside inside(const std::string& text, std::int32_t ranks) {
  if (ranks < 1) throw std::invalid_argument("a host must have ranks to bind");
  const Topology topology(text);
  const std::vector<hwloc_obj_t> objects = topology.cores(ranks);
  std::vector<int> depths; // the deepest first
  for (const hwloc_obj_t a : objects)
    for (const hwloc_obj_t b : objects)
      depths.push_back(topology.common_depth(a, b));
  std::ranges::sort(depths, std::greater());
  depths.erase(std::unique(depths.begin(), depths.end()), depths.end());

  Inside found{{}, network::even_network(ranks, nearest_latency, Rate(nearest_rate))};
  for (network::HostId a = 0; a < ranks; ++a) {
    found.cores.push_back(core_of(objects[index(a)]));
    network::Host& host = found.network.hosts[index(a)];
    host.name = "place " + std::to_string(a); // several may be on one core
    host.egress = host.ingress = Rate::infinity();
    for (network::HostId b = 0; b < ranks; ++b) {
      if (a == b) continue;
      const int depth = topology.common_depth(objects[index(a)], objects[index(b)]);
      const auto level = std::ranges::find(depths, depth) - depths.begin();
      const double factor = static_cast<double>(std::int64_t{1} << level);
      found.network.latency.set(a, b, nearest_latency * factor);
      found.network.bandwidth.set(a, b, Rate(nearest_rate / factor));
    }
  }
  return found;
}

} // namespace thalweg::mapping
#else
namespace thalweg::mapping {

bool has_hwloc() { return false; }

Inside inside(const std::string& /*text*/, std::int32_t /*ranks*/) {
  throw std::invalid_argument(
      "this build has no hwloc: install libhwloc-dev and build again, or leave out --bind");
}

} // namespace thalweg::mapping
#endif
