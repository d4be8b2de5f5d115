#include "column.hpp"
#include "core.hpp"
#include "exports/otf2.hpp"

#include <nanobind/stl/optional.h>
#include <stdexcept>

namespace thalweg::bindings {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace exports;

/// Sets a pointer to what is at an address of this process.
template <class Pointer>
void point(Pointer& pointer, std::uintptr_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python has no pointers
  pointer = reinterpret_cast<Pointer>(address);
}

void construct(Otf2Functions* self, std::uintptr_t enter, std::uintptr_t collective_begin,
               std::uintptr_t collective_end, std::uintptr_t leave, std::uintptr_t send,
               std::uintptr_t receive) {
  new (self) Otf2Functions;
  point(self->enter, enter);
  point(self->collective_begin, collective_begin);
  point(self->collective_end, collective_end);
  point(self->leave, leave);
  point(self->send, send);
  point(self->receive, receive);
}

template <class T>
std::span<const T> span(const Column<T>& column, std::size_t count) {
  if (column.shape(0) != count)
    throw std::invalid_argument("the columns of events must be equally long");
  return {column.data(), count};
}

std::optional<std::uint64_t>
write_all(const Otf2Functions& functions, std::uintptr_t writer_at,
          const Column<std::uint8_t>& event, const Column<std::uint64_t>& time,
          const Column<std::uint32_t>& communicator, const Column<std::uint32_t>& peer,
          const Column<std::uint64_t>& size, const Column<std::uint32_t>& region,
          const Column<std::uint8_t>& operation) {
  const std::size_t count = time.shape(0);
  void* writer = nullptr;
  point(writer, writer_at);
  return write(functions, writer,
               {span(event, count), span(time, count), span(communicator, count), span(peer, count),
                span(size, count), span(region, count), span(operation, count)});
}

} // namespace

void bind_exports(nb::module_& module) {
  nb::module_ m = module.def_submodule("exports");
  nb::class_<Otf2Functions>(m, "Otf2Functions")
      .def("__init__", construct, nb::kw_only(), "enter"_a, "collective_begin"_a,
           "collective_end"_a, "leave"_a, "send"_a, "receive"_a);
  m.def("write_otf2", write_all, "functions"_a, "writer"_a, nb::kw_only(), "event"_a, "time"_a,
        "communicator"_a, "peer"_a, "size"_a, "region"_a, "operation"_a);
}

} // namespace thalweg::bindings
