#include "core.hpp"

NB_MODULE(_core, module) {
  // Objects that live as long as the interpreter, such as the algorithms, aren't leaks.
  nanobind::set_leak_warnings(false);
  module.doc() = "Thalweg's C++ core; use the modules of the package thalweg instead.";
  thalweg::bindings::bind_units(module);
  thalweg::bindings::bind_forecast(module);
  thalweg::bindings::bind_exports(module);
  thalweg::bindings::bind_network(module);
  thalweg::bindings::bind_collective(module);
  thalweg::bindings::bind_schedule(module);
  thalweg::bindings::bind_algorithms(module);
  thalweg::bindings::bind_bounds(module);
  thalweg::bindings::bind_simulator(module);
  thalweg::bindings::bind_planner(module);
  thalweg::bindings::bind_mapping(module);
  thalweg::bindings::bind_probe(module);
  thalweg::bindings::explain_mismatches(module);
}
