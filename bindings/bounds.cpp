#include "bounds/bounds.hpp"

#include "core.hpp"
#include "units/units.hpp"

#include <nanobind/stl/string.h>

namespace thalweg::bindings {

namespace nb = nanobind;
using namespace nb::literals;

void bind_bounds(nb::module_& module) {
  nb::module_ m = module.def_submodule("bounds");
  nb::class_<bounds::Bound>(m, "Bound")
      .def_prop_ro("time", [](const bounds::Bound& bound) { return bound.time.value(); })
      .def_ro("reason", &bounds::Bound::reason)
      .def("__repr__", [](const bounds::Bound& bound) {
        return nb::str("<Bound {}: {}>").format(units::to_text(bound.time), bound.reason);
      });
  m.def("bound", checked(bounds::bound), "problem"_a);
}

} // namespace thalweg::bindings
