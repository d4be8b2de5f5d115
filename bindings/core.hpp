#pragma once

#include "algorithms/algorithm.hpp"

#include <nanobind/nanobind.h>
#include <utility>

/// Each bind_ function adds the submodule of its name, thalweg._core.<module>. Times are floats in
/// seconds, rates floats in bytes per second, sizes ints in bytes.
namespace thalweg::bindings {

/// Compares for `__eq__`, with nb::is_operator().
template <class T>
bool equal(const T& a, const T& b) {
  return a == b;
}

inline void check_argument(const network::Network& network) { network::validate(network); }
inline void check_argument(const algorithms::Problem& problem) { algorithms::validate(problem); }
template <class T>
void check_argument(const T& /*argument*/) {}

/// Wraps a function so that each network and problem among its arguments is validated at each call:
/// Python may have changed it since it was made, also through a numpy view of it. All functions
/// that compute from one are bound so.
template <class Result, class... Arguments>
auto checked(Result (*function)(Arguments...)) {
  return [function](Arguments... arguments) -> Result {
    (check_argument(arguments), ...);
    return function(std::forward<Arguments>(arguments)...);
  };
}

void bind_units(nanobind::module_& module);
void bind_forecast(nanobind::module_& module);
void bind_exports(nanobind::module_& module);
void bind_network(nanobind::module_& module);
void bind_collective(nanobind::module_& module);
void bind_schedule(nanobind::module_& module);
void bind_algorithms(nanobind::module_& module);
void bind_bounds(nanobind::module_& module);
void bind_simulator(nanobind::module_& module);
void bind_planner(nanobind::module_& module);
void bind_mapping(nanobind::module_& module);
void bind_probe(nanobind::module_& module);

/// Lets each function, constructor and setter of the module, its submodules and their classes
/// refuse arguments of other types by an ArgumentError, a TypeError of one line; nanobind's own has
/// several. Called when all is bound.
void explain_mismatches(nanobind::module_& module);

} // namespace thalweg::bindings
