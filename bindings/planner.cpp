#include "planner/planner.hpp"

#include "core.hpp"
#include "fields.hpp"
#include "planner/by_hand.hpp"
#include "planner/native_algorithm.hpp"
#include "planner/neighborhood.hpp"
#include "planner/selection.hpp"
#include "planner/table.hpp"
#include "planner/wisdom.hpp"

#include <algorithm>
#include <cmath>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace thalweg::bindings {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace planner;
using collective::Kind;
using network::Network;
using network::Placement;

std::optional<double> seconds(const std::optional<Time>& time) {
  if (!time) return std::nullopt;
  return time->value();
}

nb::bytes to_python(const std::vector<std::byte>& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

std::span<const std::byte> from_python(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

void construct_options(PlanOptions* self, std::string library, std::vector<std::string> disabled,
                       std::size_t finalists, std::string force, int window, Effort effort,
                       std::uint64_t seed, double budget, std::vector<Skeleton> given,
                       int threads) {
  if (window < 0)
    throw std::invalid_argument("a window of " + std::to_string(window) +
                                " transfers lets nothing through: at least 1, or 0 for as many as "
                                "a plan asks for");
  if (!(budget >= 0))
    throw std::invalid_argument("a search can't take " + std::to_string(budget) +
                                " seconds: give 0 or more");
  if (threads < 0)
    throw std::invalid_argument("a plan can't be made by " + std::to_string(threads) +
                                " threads: give 1 or more, or 0 for as many as processors");
  new (self) PlanOptions{std::move(library),
                         std::move(disabled),
                         finalists,
                         std::move(force),
                         window,
                         effort,
                         seed,
                         budget,
                         threads,
                         std::move(given)};
}

void bind_plan(nb::module_& m) {
  nb::enum_<Effort>(m, "Effort")
      .value("estimate", Effort::estimate)
      .value("normal", Effort::normal)
      .value("patient", Effort::patient);
  m.def("parse_effort", parse_effort, "text"_a);
  nb::class_<PlanOptions>(m, "Options")
      .def("__init__", construct_options, "library"_a = "",
           "disabled"_a = std::vector<std::string>(), "finalists"_a = PlanOptions().finalists,
           "force"_a = "", "window"_a = PlanOptions().window, "effort"_a = PlanOptions().effort,
           "seed"_a = PlanOptions().seed, "budget"_a = PlanOptions().budget,
           "given"_a = std::vector<Skeleton>(), "threads"_a = PlanOptions().threads)
      .def_ro("library", &PlanOptions::library)
      .def_ro("disabled", &PlanOptions::disabled)
      .def_ro("finalists", &PlanOptions::finalists)
      .def_ro("force", &PlanOptions::force)
      .def_ro("window", &PlanOptions::window)
      .def_ro("effort", &PlanOptions::effort)
      .def_ro("seed", &PlanOptions::seed)
      .def_ro("budget", &PlanOptions::budget)
      .def_ro("given", &PlanOptions::given, nb::rv_policy::copy)
      .def_ro("threads", &PlanOptions::threads);
  nb::class_<Candidate>(m, "Candidate")
      .def_ro("algorithm", &Candidate::algorithm)
      .def_ro("parameters", &Candidate::parameters)
      .def_ro("window", &Candidate::window)
      .def_ro("searched", &Candidate::searched)
      .def_ro("given", &Candidate::given)
      .def_prop_ro("force", &Candidate::force)
      .def_prop_ro("estimate", [](const Candidate& c) { return seconds(c.estimate); })
      .def_prop_ro("fast", [](const Candidate& c) { return seconds(c.fast); })
      .def_prop_ro("fluid", [](const Candidate& c) { return seconds(c.fluid); })
      .def_prop_ro("time", [](const Candidate& c) { return seconds(c.time()); });
  nb::class_<Native> native(m, "Native");
  bind_fields(native);
  native.def_prop_ro("to_beat", [](const Native& self) { return self.to_beat().value(); });
  nb::class_<Plan>(m, "Plan")
      .def_ro("algorithm", &Plan::algorithm)
      .def_ro("parameters", &Plan::parameters)
      .def_ro("skeleton", &Plan::skeleton)
      .def_prop_ro("predicted", [](const Plan& plan) { return plan.predicted.value(); })
      .def_ro("native", &Plan::native)
      .def_ro("bound", &Plan::bound)
      .def_ro("reason", &Plan::reason)
      .def("__repr__", [](const Plan& plan) { return "<Plan " + plan.reason + ">"; });
  nb::class_<PassTime>(m, "PassTime")
      .def_ro("pass_", &PassTime::pass)
      .def_prop_ro("time", [](const PassTime& pass) { return pass.time.value(); });
  nb::class_<Explanation>(m, "Explanation")
      .def(
          "__init__",
          [](Explanation* self, const Plan& plan) {
            new (self) Explanation{plan, {}, {}, {}};
          },
          "plan"_a)
      .def_ro("plan", &Explanation::plan)
      .def_ro("candidates", &Explanation::candidates, nb::rv_policy::copy)
      .def_ro("critical_path", &Explanation::critical_path, nb::rv_policy::copy)
      .def_ro("passes", &Explanation::passes, nb::rv_policy::copy);
}

/// Checks that sizes up to `most` can be planned.
void check_sizes(const Placement& placement, const std::vector<Kind>& kinds, Size most) {
  constexpr Size largest = Size{1} << 40;
  if (most < 1 || most > largest)
    throw std::invalid_argument("a table can't have sizes up to " + std::to_string(most) +
                                " bytes: at least 1, at most " + units::size_to_text(largest));
  for (const Kind kind : kinds) // a class of sizes is planned for its mean, up to twice its least
    collective::validate(
        {.kind = kind, .ranks = static_cast<collective::Rank>(placement.size()), .size = 2 * most});
}

nb::bytes wisdom_to_bytes(const std::vector<std::pair<std::string, nb::bytes>>& records) {
  std::vector<Record> wisdom;
  for (const auto& [key, value] : records) {
    const auto bytes = from_python(value);
    wisdom.push_back({key, {bytes.begin(), bytes.end()}});
  }
  return to_python(to_bytes(wisdom));
}

std::vector<std::pair<std::string, nb::bytes>> wisdom_to_python(const nb::bytes& bytes) {
  std::vector<std::pair<std::string, nb::bytes>> records;
  for (const Record& record : wisdom_from_bytes(from_python(bytes)))
    records.emplace_back(record.key, to_python(record.value));
  return records;
}

void bind_table(nb::module_& m) {
  nb::class_<PredictedTimes>(m, "PredictedTimes")
      .def_ro("size", &PredictedTimes::size)
      .def_ro("plan_ns", &PredictedTimes::plan_ns)
      .def_ro("native_ns", &PredictedTimes::native_ns)
      .def_ro("bound_ns", &PredictedTimes::bound_ns);
  nb::class_<Entry>(m, "Entry")
      .def(
          "__init__",
          [](Entry* self, Kind kind, Skeleton skeleton, Size min_size, Size size, double predicted,
             double bound, const Native& native) {
            const auto nanoseconds = [](double time) {
              constexpr double most = 1e9; // seconds
              if (!(time >= 0 && time <= most))
                throw std::invalid_argument("a row's time of " + std::to_string(time) +
                                            " seconds: must be from 0 to " + std::to_string(most));
              return std::llround(time * 1e9);
            };
            if (size < 0)
              throw std::invalid_argument("a row's times of " + std::to_string(size) +
                                          " bytes: must be of at least 0");
            const collective::Rank root = skeleton.root;
            new (self) Entry{kind, root, min_size, false, std::move(skeleton)};
            self->times = {{.size = size,
                            .plan_ns = nanoseconds(predicted),
                            .native_ns = nanoseconds(native.time.value()),
                            .bound_ns = nanoseconds(bound)}};
            set_native(*self, native);
          },
          "kind"_a, "skeleton"_a, "min_size"_a = 0, "size"_a = 0, "predicted"_a = 0.0,
          "bound"_a = 0.0, "native"_a = Native())
      .def_ro("kind", &Entry::kind)
      .def_ro("root", &Entry::root)
      .def_ro("min_size", &Entry::min_size)
      .def_ro("native", &Entry::native)
      .def_ro("skeleton", &Entry::skeleton)
      .def_ro("second", &Entry::second)
      .def_ro("times", &Entry::times)
      .def_ro("native_percent", &Entry::native_percent)
      .def_ro("native_algorithm", &Entry::native_algorithm)
      .def(
          "__eq__", [](const Entry& a, const Entry& b) { return a == b; }, nb::is_operator());
  nb::class_<Table>(m, "Table")
      .def(
          "__init__",
          [](Table* self, Placement placement, std::vector<Entry> entries) {
            const auto ranks = static_cast<collective::Rank>(placement.size());
            for (const Entry& entry : entries) {
              if (entry.root < 0 || entry.root >= ranks)
                throw std::invalid_argument("a row's root " + std::to_string(entry.root) +
                                            " isn't among the table's " + std::to_string(ranks) +
                                            " ranks");
              if (!entry.native && entry.skeleton.ranks != ranks)
                throw std::invalid_argument("a row is for " + std::to_string(entry.skeleton.ranks) +
                                            " ranks, and the table for " + std::to_string(ranks));
            }
            new (self) Table{std::move(placement), std::move(entries)};
            self->sort();
          },
          "placement"_a, "entries"_a)
      .def_ro("placement", &Table::placement)
      .def_ro("entries", &Table::entries, nb::rv_policy::copy)
      .def("rows", &Table::rows, "kind"_a, "root"_a)
      .def(
          "find",
          [](const Table& table, Kind kind, collective::Rank root, Size size) {
            const auto entry = table.find(kind, root, size);
            return entry == nullptr ? std::nullopt : std::optional(*entry);
          },
          "kind"_a, "root"_a, "size"_a)
      .def("predict", &Table::predict, "kind"_a, "root"_a, "size"_a)
      .def(
          "__eq__", [](const Table& a, const Table& b) { return a == b; }, nb::is_operator());
  nb::class_<PlanFile>(m, "PlanFile")
      .def(
          "__init__",
          [](PlanFile* self, const Network& network, std::string library,
             std::vector<Table> tables) {
            for (const Table& table : tables)
              algorithms::validate(network, table.placement);
            network::validate(network);
            new (self) PlanFile{network, std::move(library), std::move(tables)};
          },
          "network"_a, "library"_a, "tables"_a)
      .def_ro("network", &PlanFile::network)
      .def_ro("library", &PlanFile::library)
      .def_ro("tables", &PlanFile::tables, nb::rv_policy::copy);
}

} // namespace

void bind_planner(nb::module_& module) {
  nb::module_ m = module.def_submodule("planner");
  bind_plan(m);
  bind_table(m);
  m.def("explain", checked(explain), "problem"_a, "options"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("plan", checked(plan), "problem"_a, "options"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "make_table",
      [](const Network& network, const Placement& placement, const std::vector<Kind>& kinds,
         const PlanOptions& options, Size max_size) {
        algorithms::validate(network, placement);
        check_sizes(placement, kinds, max_size);
        return make_table(network, placement, kinds, options, max_size);
      },
      "network"_a, "placement"_a, "kinds"_a, "options"_a, "max_size"_a = Size{1} << 27,
      nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "put_tree",
      [](const Table& table, const Network& network, Kind kind, const algorithms::Parameters& tree,
         Size low, Size high, const PlanOptions& options, std::optional<collective::Rank> root) {
        algorithms::validate(network, table.placement);
        check_sizes(table.placement, {kind}, high);
        Table changed = table;
        put_tree(changed, network, kind, tree, low, high, options, root);
        return changed;
      },
      "table"_a, "network"_a, "kind"_a, "tree"_a, "low"_a, "high"_a, "options"_a,
      "root"_a = nb::none(), nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "quick_table",
      [](const Network& network, const Placement& placement, const PlanOptions& options) {
        network::validate(network); // hosts outside of it mean a table without rows
        return quick_table(network, placement, options);
      },
      "network"_a, "placement"_a, "options"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("selections", [] {
    const auto names = selections();
    return std::vector<std::string>(names.begin(), names.end());
  });
  m.def(
      "selection",
      [](const std::string& name, const collective::Collective& collective) {
        const Choice choice = select(name, collective);
        return std::pair(choice.algorithm, choice.parameters);
      },
      "name"_a, "collective"_a);
  nb::enum_<Level>(m, "Level")
      .value("all", Level::all)
      .value("within_hosts", Level::within_hosts)
      .value("between_hosts", Level::between_hosts);
  nb::class_<Phase>(m, "Phase")
      .def_ro("level", &Phase::level)
      .def_ro("collective", &Phase::collective)
      .def_ro("placement", &Phase::placement)
      .def_prop_ro("algorithm", [](const Phase& phase) { return phase.choice.algorithm; })
      .def_prop_ro("parameters", [](const Phase& phase) { return phase.choice.parameters; });
  nb::class_<NativeAlgorithm>(m, "NativeAlgorithm")
      .def_ro("library", &NativeAlgorithm::library)
      .def_ro("phases", &NativeAlgorithm::phases)
      .def("__str__", [](const NativeAlgorithm& algorithm) { return to_text(algorithm); });
  m.def("native_algorithms", native_algorithms, "problem"_a, "library"_a);
  m.def(
      "to_bytes", [](const PlanFile& file) { return to_python(to_bytes(file)); }, "file"_a);
  m.def(
      "table_to_bytes", [](const Table& table) { return to_python(to_bytes(table)); }, "table"_a);
  m.def(
      "table_from_bytes",
      [](const nb::bytes& bytes) { return table_from_bytes(from_python(bytes)); }, "data"_a);
  m.def(
      "plan_to_bytes", [](const Plan& plan) { return to_python(to_bytes(plan)); }, "plan"_a);
  m.def(
      "plan_from_bytes",
      [](const nb::bytes& bytes, collective::Rank ranks) {
        return plan_from_bytes(from_python(bytes), ranks);
      },
      "data"_a, "ranks"_a);
  m.def(
      "plan_neighborhood",
      [](const std::vector<std::tuple<collective::Rank, collective::Rank, units::Size>>& edges,
         const network::Network& network, const network::Placement& placement,
         const std::string& library) {
        std::vector<Edge> known;
        for (const auto& [from, to, size] : edges)
          known.push_back({from, to, size});
        const NeighborhoodChoice choice = plan_neighborhood(known, network, placement, library);
        const Pace& pace = paces[choice.pace];
        return std::tuple(std::string(units::name_of(pace.pacing)), pace.window,
                          choice.native.value(), choice.time.value());
      },
      "edges"_a, "network"_a, "placement"_a, "library"_a);
  m.def("wisdom_to_bytes", wisdom_to_bytes, "records"_a);
  m.def("wisdom_from_bytes", wisdom_to_python, "data"_a);
  m.def(
      "from_bytes", [](const nb::bytes& bytes) { return from_bytes(from_python(bytes)); },
      "data"_a);
}

} // namespace thalweg::bindings
