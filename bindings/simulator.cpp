#include "simulator/simulator.hpp"

#include "core.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <vector>

namespace thalweg::bindings {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace simulator;

void bind_options(nb::module_& m) {
  nb::enum_<Fidelity>(m, "Fidelity").value("fast", Fidelity::fast).value("fluid", Fidelity::fluid);
  nb::class_<Options>(m, "Options")
      .def(
          "__init__",
          [](Options* self, Fidelity fidelity, std::string library, int window, bool timeline,
             std::int64_t max_messages) {
            new (self) Options{fidelity, std::move(library), window, timeline, max_messages};
          },
          "fidelity"_a = Options().fidelity, "library"_a = "", "window"_a = Options().window,
          "timeline"_a = false, "max_messages"_a = 0)
      .def_ro("fidelity", &Options::fidelity)
      .def_ro("library", &Options::library)
      .def_ro("window", &Options::window)
      .def_ro("timeline", &Options::timeline)
      .def_ro("max_messages", &Options::max_messages);
}

void bind_results(nb::module_& m) {
  nb::class_<Event>(m, "Event")
      .def_ro("from_", &Event::from)
      .def_ro("to", &Event::to)
      .def_ro("step", &Event::step)
      .def_ro("segment", &Event::segment)
      .def_ro("size", &Event::size)
      .def_prop_ro("start", [](const Event& event) { return event.start.value(); })
      .def_prop_ro("end", [](const Event& event) { return event.end.value(); })
      .def_ro("cause", &Event::cause);
  nb::class_<Prediction>(m, "Prediction")
      .def_prop_ro("time", [](const Prediction& prediction) { return prediction.time.value(); })
      .def_prop_ro("exits",
                   [](const Prediction& prediction) {
                     std::vector<double> exits;
                     for (const Time exit : prediction.exits)
                       exits.push_back(exit.value());
                     return exits;
                   })
      .def_ro("timeline", &Prediction::timeline, nb::rv_policy::copy);
}

} // namespace

void bind_simulator(nb::module_& module) {
  nb::module_ m = module.def_submodule("simulator");
  bind_options(m);
  bind_results(m);
  m.def(
      "simulate",
      [](const Problem& p, const Skeleton& s, const Options& o) { return simulate(p, s, o); },
      "problem"_a, "skeleton"_a, "options"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("simulate",
        nb::overload_cast<const Problem&, const schedule::Schedule&, const Options&>(simulate),
        "problem"_a, "schedule"_a, "options"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("critical_path", critical_path, "timeline"_a);
}

} // namespace thalweg::bindings
