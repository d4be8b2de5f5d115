#include "forecast/forecast.hpp"

#include "core.hpp"
#include "forecast/changes.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace thalweg::bindings {
namespace {

using forecast::Observation;

std::vector<Observation> series(const std::vector<double>& times,
                                const std::vector<double>& values) {
  if (times.size() != values.size())
    throw std::invalid_argument(std::to_string(times.size()) + " times for " +
                                std::to_string(values.size()) + " values: give one of each");
  std::vector<Observation> result;
  for (std::size_t i = 0; i < times.size(); ++i)
    result.push_back({times[i], values[i]});
  return result;
}

} // namespace

void bind_forecast(nb::module_& module) {
  nb::module_ m = module.def_submodule("forecast");
  nb::class_<forecast::Forecast>(m, "Forecast")
      .def_ro("value", &forecast::Forecast::value)
      .def_ro("error", &forecast::Forecast::error)
      .def_ro("predictor", &forecast::Forecast::predictor);
  nb::class_<forecast::Hindsight>(m, "Hindsight")
      .def_ro("forecast", &forecast::Hindsight::forecast)
      .def_ro("names", &forecast::Hindsight::names)
      .def_ro("predicted", &forecast::Hindsight::predicted);
  nb::class_<forecast::Change>(m, "Change")
      .def_ro("at", &forecast::Change::at)
      .def_ro("before", &forecast::Change::before)
      .def_ro("after", &forecast::Change::after);
  using Doubles = const std::vector<double>&;
  m.def(
      "forecast",
      [](Doubles times, Doubles values, double at) {
        return forecast::forecast(series(times, values), at);
      },
      "times"_a, "values"_a, "at"_a);
  m.def(
      "hindsight",
      [](Doubles times, Doubles values) { return forecast::hindsight(series(times, values)); },
      "times"_a, "values"_a);
  m.def(
      "changes",
      [](Doubles times, Doubles values, double slack, double threshold, std::size_t lasting) {
        return forecast::changes(series(times, values), {slack, threshold, lasting});
      },
      "times"_a, "values"_a, "slack"_a, "threshold"_a, "lasting"_a);
}

} // namespace thalweg::bindings
