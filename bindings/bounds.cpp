#include "bounds/bounds.hpp"

#include "core.hpp"
#include "fields.hpp"
#include "units/units.hpp"

#include <nanobind/stl/string.h>

namespace thalweg::bindings {

namespace nb = nanobind;
using namespace nb::literals;

void bind_bounds(nb::module_& module) {
  nb::module_ m = module.def_submodule("bounds");
  nb::class_<bounds::Bound> bound(m, "Bound");
  bind_fields(bound);
  bound.def("__repr__", [](const bounds::Bound& self) {
    return nb::str("<Bound {}: {}>").format(units::to_text(self.time), self.reason);
  });
  m.def("bound", checked(bounds::bound), "problem"_a);
  m.def("bound_with_slow_start", checked(bounds::bound_with_slow_start), "problem"_a);
}

} // namespace thalweg::bindings
