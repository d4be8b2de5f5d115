#pragma once

#include <nanobind/nanobind.h>

/// Each bind_ function adds the submodule of its name, thalweg._core.<module>. Times are floats in
/// seconds, rates floats in bytes per second, sizes ints in bytes.
namespace thalweg::bindings {

/// Compares for `__eq__`, with nb::is_operator().
template <class T>
bool equal(const T& a, const T& b) {
  return a == b;
}

void bind_units(nanobind::module_& module);
void bind_network(nanobind::module_& module);
void bind_collective(nanobind::module_& module);
void bind_schedule(nanobind::module_& module);
void bind_algorithms(nanobind::module_& module);
void bind_bounds(nanobind::module_& module);
void bind_simulator(nanobind::module_& module);
void bind_planner(nanobind::module_& module);
void bind_probe(nanobind::module_& module);

} // namespace thalweg::bindings
