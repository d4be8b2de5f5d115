#include "mapping/mapping.hpp"

#include "column.hpp"
#include "core.hpp"
#include "fields.hpp"
#include "mapping/planned.hpp"
#include "mapping/scotch.hpp"
#include "mapping/topology.hpp"

#include <algorithm>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <stdexcept>
#include <utility>

namespace thalweg::bindings {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace mapping;

void construct(Communication* self, Rank ranks, const Column<std::int64_t>& sender,
               const Column<std::int64_t>& receiver, const Column<double>& messages,
               const Column<double>& bytes, const Column<std::int64_t>& phase) {
  const std::size_t count = sender.shape(0);
  if (receiver.shape(0) != count || messages.shape(0) != count || bytes.shape(0) != count ||
      phase.shape(0) != count)
    throw std::invalid_argument("a communication matrix must have a sender, a receiver, messages, "
                                "bytes and a phase for each pair");
  std::vector<Traffic> entries;
  entries.reserve(count);
  const auto rank = [&](std::int64_t number) { // beyond what a Rank holds it is wrong, too
    const std::int64_t beyond = std::max(ranks, 0);
    return static_cast<Rank>(std::clamp<std::int64_t>(number, -1, beyond));
  };
  for (std::size_t at = 0; at < count; ++at)
    entries.push_back(
        {rank(sender.data()[at]), rank(receiver.data()[at]), messages.data()[at], bytes.data()[at],
         static_cast<std::int32_t>(std::clamp<std::int64_t>(phase.data()[at], -1, most_phases))});
  new (self) Communication(ranks, std::move(entries));
}

/// Returns a column of all pairs, which numpy owns.
template <class T, class Member>
nb::ndarray<nb::numpy, T> column(const Communication& matrix, Member member) {
  auto* kept = new std::vector<T>;
  for (const Traffic& each : matrix.entries())
    kept->push_back(static_cast<T>(each.*member));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner);
}

/// What a mapping depends on besides the network.
struct Setting {
  Communication communication;
  std::vector<std::int32_t> slots;
  std::vector<Call> calls;
  Metric metric{};
  std::vector<HostId> pinned;
  Placement previous;
  Time migration{};
  std::vector<HostId> order;

  [[nodiscard]] Problem of(const Network& network) const {
    network::validate(network);
    return {network, communication, slots, calls, metric, pinned, previous, migration, order};
  }
};

template <class T>
T named(const std::string& name) {
  T value{};
  from_python(name, value);
  return value;
}

template <class T>
std::vector<std::string> names() {
  const auto all = names_of(T{});
  return {all.begin(), all.end()};
}

void bind_setting(nb::module_& m) {
  nb::class_<Communication>(m, "Communication")
      .def("__init__", construct, "ranks"_a, "sender"_a, "receiver"_a, "messages"_a, "nbytes"_a,
           "phase"_a)
      .def_prop_ro("ranks", &Communication::ranks)
      .def_prop_ro(
          "sender", [](const Communication& c) { return column<std::int64_t>(c, &Traffic::from); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "receiver", [](const Communication& c) { return column<std::int64_t>(c, &Traffic::to); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "messages", [](const Communication& c) { return column<double>(c, &Traffic::messages); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "nbytes", [](const Communication& c) { return column<double>(c, &Traffic::bytes); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "phase", [](const Communication& c) { return column<std::int64_t>(c, &Traffic::phase); },
          nb::rv_policy::automatic)
      .def(
          "between",
          [](const Communication& c, const std::vector<Rank>& group_of, Rank groups) {
            if (group_of.size() != static_cast<std::size_t>(c.ranks()))
              throw std::invalid_argument("groups of " + std::to_string(group_of.size()) +
                                          " ranks don't fit a matrix of " +
                                          std::to_string(c.ranks()));
            for (const Rank group : group_of)
              if (group < 0 || group >= groups)
                throw std::invalid_argument("there is no group " + std::to_string(group));
            return c.between(group_of, groups);
          },
          "group_of"_a, "groups"_a);
  nb::class_<Call>(m, "Call")
      .def(nb::init<collective::Kind, Size, double, Rank, std::vector<Rank>>(), "kind"_a, "size"_a,
           "count"_a = 1.0, "root"_a = 0, "members"_a = std::vector<Rank>())
      .def_ro("kind", &Call::kind)
      .def_ro("size", &Call::size)
      .def_ro("count", &Call::count)
      .def_ro("root", &Call::root)
      .def_ro("members", &Call::members);
  nb::class_<Setting>(m, "Setting")
      .def(
          "__init__",
          [](Setting* self, Communication communication, std::vector<std::int32_t> slots,
             std::vector<Call> calls, const std::string& cost, std::vector<HostId> pinned,
             Placement previous, double migration, std::vector<HostId> order) {
            new (self) Setting{std::move(communication), std::move(slots),  std::move(calls),
                               named<Metric>(cost),      std::move(pinned), std::move(previous),
                               Time(migration),          std::move(order)};
          },
          "communication"_a, "slots"_a, "calls"_a, "cost"_a, "pinned"_a, "previous"_a,
          "migration"_a, "order"_a);
  bind_struct<Cost>(m, "Cost").def_prop_ro("total",
                                           [](const Cost& c) { return c.total().value(); });
  bind_struct<TrafficSums>(m, "TrafficSums");
}

} // namespace

void bind_mapping(nb::module_& module) {
  nb::module_ m = module.def_submodule("mapping");
  bind_setting(m);
  m.attr("methods") = nb::tuple(nb::cast(names<Method>()));
  m.attr("costs") = nb::tuple(nb::cast(names<Metric>()));
  m.def("has_scotch", has_scotch);
  m.def("has_hwloc", has_hwloc);
  nb::class_<Core>(m, "Core")
      .def_ro("number", &Core::number)
      .def_ro("processors", &Core::processors);
  nb::class_<Inside>(m, "Inside")
      .def_ro("cores", &Inside::cores)
      .def_ro("network", &Inside::network);
  m.def("inside", inside, "topology"_a, "ranks"_a);
  m.def(
      "finalists",
      [](const Network& network, const Setting& setting, const std::string& method,
         std::uint64_t seed, std::optional<std::int64_t> moves, std::size_t most,
         const std::string& native) {
        MapOptions options{named<Method>(method), seed, moves};
        options.native = native;
        return finalists(setting.of(network), options, most);
      },
      "network"_a, "setting"_a, "method"_a, "seed"_a, "moves"_a, "most"_a, "native"_a,
      nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "planned_costs",
      [](const Network& network, const Setting& setting, const std::vector<Placement>& placements,
         const std::string& native) {
        const Problem problem = setting.of(network);
        validate(problem);
        for (const Placement& each : placements)
          check(problem, each);
        PlannedCosts found = planned_costs(problem, placements, native);
        return std::pair(std::move(found.costs), found.calls);
      },
      "network"_a, "setting"_a, "placements"_a, "native"_a,
      nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "cost",
      [](const Network& network, const Setting& setting, const Placement& placement) {
        const Problem problem = setting.of(network);
        validate(problem);
        check(problem, placement);
        return cost(problem, placement);
      },
      "network"_a, "setting"_a, "placement"_a);
  m.def(
      "traffic",
      [](const Network& network, const Setting& setting, const Placement& placement) {
        const Problem problem = setting.of(network);
        validate(problem);
        check(problem, placement);
        return traffic(problem, placement);
      },
      "network"_a, "setting"_a, "placement"_a);
}

} // namespace thalweg::bindings
