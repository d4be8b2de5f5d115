#include "algorithms/algorithm.hpp"
#include "algorithms/listed.hpp"
#include "algorithms/trees/declared_tree.hpp"
#include "core.hpp"

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

void check_placement(const Network& network, const Placement& placement) {
  for (std::size_t rank = 0; rank < placement.size(); ++rank)
    if (placement[rank] < 0 || placement[rank] >= network.size())
      throw std::invalid_argument("rank " + std::to_string(rank) + " is placed on host number " +
                                  std::to_string(placement[rank]) + ", but the network has " +
                                  std::to_string(network.size()) + " hosts");
}

void construct(Problem* self, const Collective& collective, const Network& network,
               Placement placement, const std::string& library,
               const std::vector<double>& entries) {
  if (std::cmp_not_equal(placement.size(), collective.ranks))
    throw std::invalid_argument("the placement has " + std::to_string(placement.size()) +
                                " ranks, the " + std::string(to_text(collective.kind)) + " has " +
                                std::to_string(collective.ranks) + ": they must be equal");
  check_placement(network, placement);
  Problem problem = make_problem(collective, network, std::move(placement), library);
  for (const double entry : entries)
    problem.entries.emplace_back(entry);
  new (self) Problem(std::move(problem));
}

Skeleton build(const Algorithm& algorithm, const Problem& problem, const Parameters& parameters) {
  const Collective& collective = problem.collective;
  if (!algorithm.can_do(collective))
    throw std::invalid_argument(std::string(algorithm.name()) + " is no algorithm for " +
                                std::string(to_text(collective.kind)) + " of " +
                                std::to_string(collective.ranks) + " ranks" +
                                (collective.in_place ? " in place" : ""));
  return make_skeleton(algorithm, problem, parameters);
}

std::vector<Rank> order(const Network& network, const Placement& placement, Rank first) {
  check_placement(network, placement);
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
  nb::enum_<Order>(m, "Order").value("closeness", Order::closeness).value("rank", Order::rank);
}

void bind_parameters(nb::module_& m) {
  nb::class_<DeclaredTree>(m, "DeclaredTree")
      .def_ro("order", &DeclaredTree::order)
      .def_ro("parents", &DeclaredTree::parents)
      .def_prop_ro("children", children_of)
      .def("__eq__", equal<DeclaredTree>, nb::is_operator());
  nb::class_<Parameters>(m, "Parameters")
      .def(
          "__init__",
          [](Parameters* self, Size segment_size, std::int32_t degree, Order order, Rank senders,
             std::int32_t base, std::int32_t span, const std::string& adjust, bool early_split,
             DeclaredTree tree, std::int32_t window) {
            if (segment_size < 0 || degree < 1)
              throw std::invalid_argument("an algorithm's segment_size must be at least 0 and its "
                                          "degree at least 1, not " +
                                          std::to_string(segment_size) + " and " +
                                          std::to_string(degree));
            if (senders < 0)
              throw std::invalid_argument("senders must be at least 0, not " +
                                          std::to_string(senders));
            if (window < 0)
              throw std::invalid_argument("a window must be at least 1, or 0 for the algorithm's "
                                          "own, not " +
                                          std::to_string(window));
            if (base < 2 || span < 0)
              throw std::invalid_argument("a hierarchy's base k must be at least 2 and its span at "
                                          "least 0, not " +
                                          std::to_string(base) + " and " + std::to_string(span));
            new (self) Parameters{.segment_size = segment_size,
                                  .degree = degree,
                                  .senders = senders,
                                  .order = order,
                                  .base = base,
                                  .span = span,
                                  .adjust = network::parse_adjust(adjust),
                                  .early_split = early_split,
                                  .window = window,
                                  .tree = std::move(tree)};
          },
          "segment_size"_a = Parameters().segment_size, "degree"_a = Parameters().degree,
          "order"_a = Parameters().order, "senders"_a = Parameters().senders,
          "base"_a = Parameters().base, "span"_a = Parameters().span, "adjust"_a = "close",
          "early_split"_a = false, "tree"_a = DeclaredTree(), "window"_a = 0)
      .def_ro("segment_size", &Parameters::segment_size)
      .def_ro("degree", &Parameters::degree)
      .def_ro("order", &Parameters::order)
      .def_ro("senders", &Parameters::senders)
      .def_ro("base", &Parameters::base)
      .def_ro("span", &Parameters::span)
      .def_prop_ro("adjust", [](const Parameters& p) { return network::name(p.adjust); })
      .def_ro("early_split", &Parameters::early_split)
      .def_ro("window", &Parameters::window)
      .def_ro("tree", &Parameters::tree)
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
                                " isn't one tree: choose an algorithm that is, such as binomial");
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
  nb::class_<Skeleton>(m, "Skeleton")
      .def_ro("algorithm", &Skeleton::algorithm)
      .def_ro("ranks", &Skeleton::ranks)
      .def_ro("root", &Skeleton::root)
      .def_ro("chunks", &Skeleton::chunks)
      .def_ro("segment_size", &Skeleton::segment_size)
      .def_ro("period", &Skeleton::period)
      .def_ro("window", &Skeleton::window)
      .def_ro("order", &Skeleton::order)
      .def_ro("parents", &Skeleton::parents)
      .def_ro("delays", &Skeleton::delays)
      .def_ro("weights", &Skeleton::weights)
      .def_ro("site_begins", &Skeleton::site_begins)
      .def_ro("senders", &Skeleton::senders)
      .def_ro("distances", &Skeleton::distances)
      .def_ro("transfers", &Skeleton::transfers)
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
      .def("candidates", &Algorithm::candidates, "problem"_a)
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
  m.def("expand", expand, "kind"_a, "skeleton"_a, "size"_a);
  m.def("list_transfers", list, "collective"_a, "schedule"_a);
  m.def("closeness_order", order, "network"_a, "placement"_a, "first"_a);
}

} // namespace thalweg::bindings
