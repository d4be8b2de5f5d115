#include "simulator/simulator.hpp"

#include "core.hpp"
#include "schedule/verify.hpp"
#include "simulator/monte_carlo.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <vector>

namespace thalweg::bindings {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace simulator;

std::vector<double> seconds(const std::vector<Time>& times) {
  std::vector<double> result;
  for (const Time time : times)
    result.push_back(time.value());
  return result;
}

void bind_options(nb::module_& m) {
  nb::enum_<Fidelity>(m, "Fidelity").value("fast", Fidelity::fast).value("fluid", Fidelity::fluid);
  nb::class_<SimulationOptions>(m, "Options")
      .def(
          "__init__",
          [](SimulationOptions* self, Fidelity fidelity, int window, bool timeline,
             std::int64_t max_messages) {
            new (self) SimulationOptions{fidelity, window, timeline, max_messages};
          },
          "fidelity"_a = SimulationOptions().fidelity, "window"_a = SimulationOptions().window,
          "timeline"_a = false, "max_messages"_a = 0)
      .def_ro("fidelity", &SimulationOptions::fidelity)
      .def_ro("window", &SimulationOptions::window)
      .def_ro("timeline", &SimulationOptions::timeline)
      .def_ro("max_messages", &SimulationOptions::max_messages);
}

void bind_results(nb::module_& m) {
  nb::class_<SimulatedMessage>(m, "SimulatedMessage")
      .def_ro("from_", &SimulatedMessage::from)
      .def_ro("to", &SimulatedMessage::to)
      .def_ro("step", &SimulatedMessage::step)
      .def_ro("segment", &SimulatedMessage::segment)
      .def_ro("size", &SimulatedMessage::size)
      .def_prop_ro("start", [](const SimulatedMessage& event) { return event.start.value(); })
      .def_prop_ro("end", [](const SimulatedMessage& event) { return event.end.value(); })
      .def_ro("cause", &SimulatedMessage::cause);
  nb::class_<Prediction>(m, "Prediction")
      .def_prop_ro("time", [](const Prediction& prediction) { return prediction.time.value(); })
      .def_prop_ro("exits", [](const Prediction& prediction) { return seconds(prediction.exits); })
      .def_ro("timeline", &Prediction::timeline, nb::rv_policy::copy);
}

void bind_monte_carlo(nb::module_& m) {
  nb::enum_<Generator>(m, "Generator")
      .value("binomial", Generator::binomial)
      .value("recursive", Generator::recursive);
  nb::class_<Sample>(m, "Sample")
      .def_ro("count", &Sample::count)
      .def_prop_ro("minimum", [](const Sample& sample) { return sample.minimum.value(); })
      .def_prop_ro("maximum", [](const Sample& sample) { return sample.maximum.value(); })
      .def_prop_ro("mean", [](const Sample& sample) { return sample.mean.value(); })
      .def_ro("order", &Sample::order)
      .def_ro("parents", &Sample::parents)
      .def_prop_ro("quantiles", [](const Sample& sample) { return seconds(sample.quantiles); })
      .def_prop_ro("edges",
                   [](const Sample& sample) {
                     const Histogram& histogram = sample.histogram;
                     std::vector<double> edges;
                     for (std::size_t bin = 0; bin <= histogram.counts.size(); ++bin)
                       edges.push_back(histogram.begin.value() +
                                       static_cast<double>(bin) * histogram.width.value());
                     return edges;
                   })
      .def_prop_ro("counts", [](const Sample& sample) { return sample.histogram.counts; });
  m.def("monte_carlo",
        checked(+[](const Problem& problem, Generator generator, std::int64_t count,
                    std::uint64_t seed, const std::vector<double>& quantiles, int bins,
                    const SimulationOptions& options) {
          return monte_carlo(problem, {generator, count, seed, quantiles, bins}, options);
        }),
        "problem"_a, "generator"_a, "count"_a, "seed"_a, "quantiles"_a, "bins"_a, "options"_a,
        nb::call_guard<nb::gil_scoped_release>());
}

} // namespace

void bind_simulator(nb::module_& module) {
  nb::module_ m = module.def_submodule("simulator");
  bind_options(m);
  bind_results(m);
  bind_monte_carlo(m);
  m.def("simulate", checked(+[](const Problem& p, const Skeleton& s, const SimulationOptions& o) {
          algorithms::check_fit(s, p.collective);
          return simulate(p, s, o);
        }),
        "problem"_a, "skeleton"_a, "options"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("simulate",
        checked(+[](const Problem& p, const schedule::Schedule& s, const SimulationOptions& o) {
          schedule::check_form(p.collective, s);
          return simulate(p, s, o);
        }),
        "problem"_a, "schedule"_a, "options"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("critical_path", critical_path, "timeline"_a);
}

} // namespace thalweg::bindings
