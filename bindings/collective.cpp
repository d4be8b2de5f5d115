#include "collective/collective.hpp"

#include "collective/neighborhood.hpp"
#include "core.hpp"

#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::bindings {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace collective;

void check(const Collective& c, Rank rank, ChunkId block) {
  if (rank < 0 || rank >= c.ranks)
    throw std::invalid_argument("there is no rank " + std::to_string(rank) + ": the " +
                                std::string(to_text(c.kind)) + " has " + std::to_string(c.ranks));
  if (block < 0 || block >= c.blocks())
    throw std::invalid_argument("there is no block " + std::to_string(block) + ": the " +
                                std::string(to_text(c.kind)) + " has " +
                                std::to_string(c.blocks()));
}

void construct(Collective* self, Kind kind, Rank ranks, Rank root, Size size, bool in_place,
               std::vector<Size> block_sizes) {
  Collective made{kind, ranks, root, size, in_place, std::move(block_sizes)};
  validate(made);
  if (!made.block_sizes.empty()) made.size = (made.total() + made.blocks() - 1) / made.blocks();
  new (self) Collective(std::move(made));
}

bool same(const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.ranks == b.ranks && a.root == b.root && a.size == b.size &&
         a.in_place == b.in_place && a.block_sizes == b.block_sizes;
}

} // namespace

void bind_collective(nb::module_& module) {
  nb::module_ m = module.def_submodule("collective");
  nb::enum_<Kind> kinds(m, "Kind");
  for (const Kind kind : collective::kinds)
    kinds.value(to_text(kind).data(), kind);
  nb::list neighborhoods;
  for (const std::string_view name : names_of(Neighborhood{}))
    neighborhoods.append(name);
  m.attr("neighborhoods") = nb::tuple(neighborhoods);
  m.def("parse_kind", parse_kind, "text"_a);
  m.def("is_rooted", is_rooted, "kind"_a);
  m.def("is_reduction", is_reduction, "kind"_a);
  nb::class_<Collective>(m, "Collective")
      .def("__init__", construct, "kind"_a, "ranks"_a, "root"_a = 0, "size"_a = 0,
           "in_place"_a = false, "block_sizes"_a = std::vector<Size>())
      .def_ro("kind", &Collective::kind)
      .def_ro("ranks", &Collective::ranks)
      .def_ro("root", &Collective::root)
      .def_ro("size", &Collective::size)
      .def_ro("in_place", &Collective::in_place)
      .def_ro("block_sizes", &Collective::block_sizes, nb::rv_policy::copy)
      .def_prop_ro("blocks", &Collective::blocks)
      .def_prop_ro("total", &Collective::total)
      .def(
          "before",
          [](const Collective& c, Rank rank, ChunkId block) {
            check(c, rank, block);
            return c.before(rank, block);
          },
          "rank"_a, "block"_a)
      .def(
          "after",
          [](const Collective& c, Rank rank, ChunkId block) {
            check(c, rank, block);
            return c.after(rank, block);
          },
          "rank"_a, "block"_a)
      .def(
          "contributes",
          [](const Collective& c, Rank contributor, Rank rank, ChunkId block) {
            check(c, contributor, block);
            check(c, rank, block);
            return c.contributes(contributor, rank, block);
          },
          "contributor"_a, "rank"_a, "block"_a)
      .def("__eq__", same, nb::is_operator())
      .def("__repr__", [](const Collective& c) {
        return nb::str("Collective({}, ranks={}, root={}, size={}, in_place={}, block_sizes={})")
            .format(c.kind, c.ranks, c.root, c.size, c.in_place, c.block_sizes);
      });
}

} // namespace thalweg::bindings
