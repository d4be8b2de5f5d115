#include "units/units.hpp"

#include "core.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

namespace thalweg::bindings {

void bind_units(nanobind::module_& module) {
  namespace nb = nanobind;
  using namespace nb::literals;
  nb::module_ m = module.def_submodule("units");
  m.def(
      "parse_time", [](std::string_view text) { return units::parse_time(text).value(); },
      "text"_a);
  m.def("parse_size", units::parse_size, "text"_a);
  m.def(
      "parse_rate", [](std::string_view text) { return units::parse_rate(text).value(); },
      "text"_a);
  m.def(
      "time_to_text", [](double seconds) { return units::to_text(units::Time(seconds)); },
      "time"_a);
  m.def("size_to_text", units::size_to_text, "size"_a);
  m.def(
      "rate_to_text", [](double rate) { return units::to_text(units::Rate(rate)); }, "rate"_a);
}

} // namespace thalweg::bindings
