#include "core.hpp"
#include "probe/outline.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace thalweg::bindings {

void bind_probe(nb::module_& module) {
  nb::module_ m = module.def_submodule("probe");
  nb::class_<probe::Phase>(m, "Phase")
      .def_ro("name", &probe::Phase::name)
      .def_ro("measured", &probe::Phase::measured)
      .def_ro("of", &probe::Phase::of)
      .def_ro("rounds", &probe::Phase::rounds)
      .def_ro("at_once", &probe::Phase::at_once)
      .def_prop_ro("time", [](const probe::Phase& p) { return p.time.value(); });
  m.def("outline", checked(+[](const network::Network& network, double budget) {
          if (!(budget >= 0))
            throw std::invalid_argument("a probe can't take " + std::to_string(budget) +
                                        " seconds: give 0 or more");
          return probe::outline(network, units::Time(budget));
        }),
        "network"_a, "budget"_a, nb::call_guard<nb::gil_scoped_release>());
}

} // namespace thalweg::bindings
