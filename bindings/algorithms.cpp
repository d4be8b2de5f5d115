#include "algorithms/algorithm.hpp"
#include "algorithms/listed.hpp"
#include "algorithms/trees/declared_tree.hpp"
#include "core.hpp"
#include "fields.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace thalweg::bindings {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace algorithms;

void construct(Problem* self, const Collective& collective, const Network& network,
               Placement placement, const std::string& library,
               const std::vector<double>& entries) {
  Problem problem = make_problem(collective, network, std::move(placement), library);
  for (const double entry : entries)
    problem.entries.emplace_back(entry);
  validate(problem);
  new (self) Problem(std::move(problem));
}

Skeleton build(const Algorithm& algorithm, const Problem& problem, const Parameters& parameters) {
  validate(problem);
  const Collective& collective = problem.collective;
  if (!algorithm.can_do(collective))
    throw std::invalid_argument(std::string(algorithm.name()) + " is no algorithm for " +
                                std::string(to_text(collective.kind)) + " of " +
                                std::to_string(collective.ranks) + " ranks" +
                                (collective.in_place ? " in place" : ""));
  return make_skeleton(algorithm, problem, parameters);
}

std::vector<Rank> order(const Network& network, const Placement& placement, Rank first) {
  validate(network, placement);
  if (first < 0 || std::cmp_greater_equal(first, placement.size()))
    throw std::invalid_argument("there is no rank " + std::to_string(first) + " among " +
                                std::to_string(placement.size()));
  return closeness_order(network, placement, first);
}

void bind_problem(nb::module_& m) {
  // A problem refers to its network and so keeps it alive.
  nb::class_<Problem>(m, "Problem")
      .def("__init__", construct, "collective"_a, "network"_a, "placement"_a, "library"_a = "",
           "entries"_a = std::vector<double>(), nb::keep_alive<1, 3>())
      .def_ro("collective", &Problem::collective)
      .def_prop_ro(
          "network", [](const Problem& p) -> const Network& { return p.network; },
          nb::rv_policy::reference_internal)
      .def_ro("placement", &Problem::placement)
      .def_ro("cost", &Problem::cost)
      .def_prop_ro("entries", [](const Problem& p) {
        std::vector<double> entries;
        for (const units::Time entry : p.entries)
          entries.push_back(entry.value());
        return entries;
      });
}

template <class Struct>
nb::dict as_dict(const Struct& self) {
  nb::dict all;
  units::for_each_field<Struct>(
      [&](const auto& field) { all[field.name.data()] = to_python(self.*field.member); });
  return all;
}

/// Sets a field by its name.
void set(Parameters& parameters, const std::string& name, nb::handle value) {
  bool known = false;
  units::for_each_field<Parameters>([&]<class T>(const units::Field<Parameters, T>& field) {
    if (field.name != name) return;
    known = true;
    if constexpr (units::Named<T>)
      units::assign(parameters, name + "=" + nb::cast<std::string>(nb::str(value)));
    else if (!nb::try_cast(value, parameters.*field.member))
      throw nb::type_error(("the parameter " + name + " isn't of its type").c_str());
    if (units::is_within(parameters.*field.member, field.least, field.most)) return;
    throw std::invalid_argument(name + " is " + nb::cast<std::string>(nb::str(value)) +
                                ": expected " + units::expected_text(field));
  });
  if (!known) throw nb::type_error(("an algorithm has no parameter " + name).c_str());
}

void bind_parameters(nb::module_& m) {
  nb::class_<DeclaredTree>(m, "DeclaredTree")
      .def_ro("order", &DeclaredTree::order)
      .def_ro("parents", &DeclaredTree::parents)
      .def_prop_ro("children", children_of)
      .def("__eq__", equal<DeclaredTree>, nb::is_operator());
  nb::class_<Parameters> parameters(m, "Parameters");
  parameters.def("__init__", [](Parameters* self, const nb::kwargs& given) {
    Parameters made;
    for (const auto& [name, value] : given)
      set(made, nb::cast<std::string>(name), value);
    new (self) Parameters(std::move(made));
  });
  bind_fields(parameters);
  parameters.def("__str__", [](const Parameters& self) { return to_text(self); })
      .def("as_dict", as_dict<Parameters>)
      .def("__eq__", equal<Parameters>, nb::is_operator());
}

/// Makes a tree from the (place in the file, parent, children) of each entry.
DeclaredTree tree_of(Rank ranks,
                     const std::vector<std::tuple<std::string, Rank, std::vector<Rank>>>& entries) {
  std::vector<Children> children;
  for (const auto& [where, parent, own] : entries)
    children.push_back({parent, own, where});
  return make_tree(ranks, children);
}

/// Returns the tree of a skeleton that is one.
DeclaredTree tree_in(const Skeleton& skeleton) {
  if (skeleton.parents.size() != 1 || skeleton.order.size() != skeleton.parents.front().size())
    throw std::invalid_argument(skeleton.algorithm +
                                " isn't one tree: choose an algorithm that is (--algorithm "
                                "binomial of `thalweg plan`, algorithm=\"binomial\" in Python)");
  return {skeleton.order, skeleton.parents.front()};
}

void bind_trees(nb::module_& m) {
  m.def("make_tree", tree_of, "ranks"_a, "entries"_a);
  m.def("parse_tree", parse_tree, "text"_a);
  m.def(
      "tree_text",
      [](const DeclaredTree& tree, Size segment_size) { return to_text(tree, segment_size); },
      "tree"_a, "segment_size"_a);
  m.def("tree_in", tree_in, "skeleton"_a);
}

void bind_skeleton(nb::module_& m) {
  nb::class_<Skeleton> skeleton(m, "Skeleton");
  bind_fields(skeleton);
  skeleton.def("as_dict", as_dict<Skeleton>)
      .def("__eq__", equal<Skeleton>, nb::is_operator())
      .def("__repr__", [](const Skeleton& s) {
        return nb::str("<Skeleton of {} for {} ranks, root {}>")
            .format(s.algorithm, s.ranks, s.root);
      });
}

} // namespace

void bind_algorithms(nb::module_& module) {
  nb::module_ m = module.def_submodule("algorithms");
  bind_problem(m);
  bind_parameters(m);
  bind_skeleton(m);
  bind_trees(m);
  nb::class_<Algorithm>(m, "Algorithm")
      .def_prop_ro("name", &Algorithm::name)
      .def_prop_ro("source", &Algorithm::source)
      .def("supports", &Algorithm::supports, "kind"_a)
      .def("can_do", &Algorithm::can_do, "collective"_a)
      .def("candidates",
           checked(+[](const Algorithm& a, const Problem& p) { return a.candidates(p); }),
           "problem"_a)
      .def("build", build, "problem"_a, "parameters"_a)
      .def("__repr__",
           [](const Algorithm& a) { return nb::str("<Algorithm {}>").format(a.name()); });
  m.def(
      "all",
      [] {
        const auto span = all();
        return std::vector<const Algorithm*>(span.begin(), span.end());
      },
      nb::rv_policy::reference);
  m.def("find", find, "name"_a, nb::rv_policy::reference);
  m.def(
      "expand",
      [](collective::Kind kind, const Skeleton& skeleton, Size size) {
        const Collective whole{
            .kind = kind, .ranks = skeleton.ranks, .root = skeleton.root, .size = size};
        collective::validate(whole);
        check_fit(skeleton, whole);
        return expand(kind, skeleton, size);
      },
      "kind"_a, "skeleton"_a, "size"_a);
  m.def(
      "force_text",
      [](const std::string& algorithm, const Parameters& parameters) {
        return to_text(algorithm, parameters);
      },
      "algorithm"_a, "parameters"_a);
  m.def("parse_parameters", parse_parameters, "text"_a);
  m.def("list_transfers", list, "collective"_a, "schedule"_a);
  m.def("closeness_order", order, "network"_a, "placement"_a, "first"_a);
}

} // namespace thalweg::bindings
