#include "schedule/schedule.hpp"

#include "core.hpp"
#include "schedule/verify.hpp"

#include <algorithm>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <string>

namespace thalweg::bindings {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace schedule;

/// A Transfer that owns its ranges.
struct OwnTransfer {
  Rank from = 0, to = 0;
  Step step = 0;
  How how = How::copy;
  std::vector<Range> what;
  Reg src = 0, dst = 0;
  bool operator==(const OwnTransfer&) const = default;
};

/// The most chunks of a schedule from outside, and of all its transfers together. With more, a
/// replay of it would take minutes.
constexpr ChunkId most_chunks = ChunkId{1} << 24;

/// Checks what doesn't depend on the collective: no loop over ranges may be endless.
void check(ChunkId chunks, const std::vector<OwnTransfer>& transfers) {
  if (chunks > most_chunks)
    throw std::invalid_argument("a schedule of " + std::to_string(chunks) +
                                " chunks is too large: use at most " + std::to_string(most_chunks));
  if (chunks < 1) return; // the schedule's own check says so
  ChunkId left = most_chunks;
  for (const OwnTransfer& t : transfers)
    for (const Range& range : t.what) {
      if (range.first < 0 || range.first >= chunks || range.count < 1 || range.stride < 1 ||
          range.count - 1 > (chunks - 1 - range.first) / range.stride)
        throw std::invalid_argument("step " + std::to_string(t.step) + ", " +
                                    std::to_string(t.from) + " -> " + std::to_string(t.to) +
                                    ": the range of " + std::to_string(range.count) +
                                    " chunks from " + std::to_string(range.first) +
                                    " in steps of " + std::to_string(range.stride) +
                                    " isn't within the " + std::to_string(chunks) + " chunks");
      left -= range.count;
      if (left < 0)
        throw std::invalid_argument("the transfers of a schedule move more than " +
                                    std::to_string(most_chunks) +
                                    " chunks together: use fewer, larger ones");
    }
}

void construct(Schedule* self, ChunkId chunks, const std::vector<OwnTransfer>& transfers,
               std::int32_t segments, Step period, std::vector<std::int32_t> weights,
               std::int32_t window) {
  check(chunks, transfers);
  Sink sink;
  for (const OwnTransfer& t : transfers)
    sink.add(t.from, t.to, t.step, t.how, t.what, t.src, t.dst);
  new (self) Schedule(chunks, {segments, period, window}, std::move(sink), std::move(weights));
}

std::vector<OwnTransfer> transfers(const Schedule& schedule) {
  std::vector<OwnTransfer> result;
  for (const Transfer& t : schedule.transfers())
    result.push_back({t.from, t.to, t.step, t.how, {t.what.begin(), t.what.end()}, t.src, t.dst});
  return result;
}

bool same(const Schedule& a, const Schedule& b) {
  return a.chunks() == b.chunks() && a.pipeline() == b.pipeline() &&
         std::ranges::equal(a.weights(), b.weights()) && transfers(a) == transfers(b);
}

nb::str describe(const Schedule& schedule) {
  const auto count = schedule.transfers().size();
  const Pipeline pipeline = schedule.pipeline();
  return nb::str("<Schedule of {} transfers in {} steps, {} chunks, {} segments>")
      .format(count, count > 0 ? schedule.transfers().back().step + 1 : 0, schedule.chunks(),
              pipeline.segments);
}

std::pair<std::int64_t, std::int64_t> interval(const Layout& layout, std::int32_t segment,
                                               ChunkId first, ChunkId count) {
  if (segment < 0 || segment >= layout.segments() || first < 0 || count < 0 ||
      count > layout.chunks() - first)
    throw std::invalid_argument(std::to_string(count) + " chunks from " + std::to_string(first) +
                                " of segment " + std::to_string(segment) +
                                " aren't in a layout of " + std::to_string(layout.segments()) +
                                " segments of " + std::to_string(layout.chunks()) + " chunks");
  const ChunkId parts = layout.parts();
  if (layout.segments() > 1 && count > 1 && first / parts != (first + count - 1) / parts)
    throw std::invalid_argument(
        std::to_string(count) + " chunks from " + std::to_string(first) +
        " are of several blocks, whose parts in a segment aren't adjacent: ask for chunks of one "
        "block, which has " +
        std::to_string(parts));
  const Interval result = layout.interval(segment, first, count);
  return {result.begin, result.end};
}

void bind_transfer(nb::module_& m) {
  nb::enum_<How>(m, "How")
      .value("copy", How::copy)
      .value("combine_left", How::combine_left)
      .value("combine_right", How::combine_right);
  nb::class_<Range>(m, "Range")
      .def(
          "__init__",
          [](Range* self, ChunkId first, ChunkId count, ChunkId stride) {
            new (self) Range{first, count, stride};
          },
          "first"_a, "count"_a = 1, "stride"_a = 1)
      .def_ro("first", &Range::first)
      .def_ro("count", &Range::count)
      .def_ro("stride", &Range::stride)
      .def("__eq__", equal<Range>, nb::is_operator())
      .def("__repr__", [](const Range& r) {
        return r.stride == 1 ? nb::str("Range({}, {})").format(r.first, r.count)
                             : nb::str("Range({}, {}, {})").format(r.first, r.count, r.stride);
      });
  nb::class_<OwnTransfer>(m, "Transfer")
      .def(
          "__init__",
          [](OwnTransfer* self, Rank from, Rank to, Step step, How how, std::vector<Range> what,
             Reg src,
             Reg dst) { new (self) OwnTransfer{from, to, step, how, std::move(what), src, dst}; },
          "from_"_a, "to"_a, "step"_a, "how"_a, "what"_a, "src"_a = 0, "dst"_a = 0)
      .def_ro("from_", &OwnTransfer::from)
      .def_ro("to", &OwnTransfer::to)
      .def_ro("step", &OwnTransfer::step)
      .def_ro("how", &OwnTransfer::how)
      .def_ro("what", &OwnTransfer::what, nb::rv_policy::copy)
      .def_ro("src", &OwnTransfer::src)
      .def_ro("dst", &OwnTransfer::dst)
      .def("__eq__", equal<OwnTransfer>, nb::is_operator())
      .def("__repr__", [](const OwnTransfer& t) {
        return nb::str("Transfer({}, {}, {}, {}, {}, src={}, dst={})")
            .format(t.from, t.to, t.step, t.how, t.what, t.src, t.dst);
      });
}

} // namespace

void bind_schedule(nb::module_& module) {
  nb::module_ m = module.def_submodule("schedule");
  bind_transfer(m);
  nb::class_<Layout>(m, "Layout")
      .def(nb::init<std::int64_t, std::int32_t, ChunkId, const std::vector<std::int32_t>&,
                    ChunkId>(),
           "total"_a, "segments"_a, "chunks"_a, "weights"_a = std::vector<std::int32_t>(),
           "blocks"_a = 1)
      .def("interval", interval, "segment"_a, "first"_a, "count"_a = 1)
      .def_prop_ro("total", &Layout::total)
      .def_prop_ro("segments", &Layout::segments)
      .def_prop_ro("chunks", &Layout::chunks);
  nb::class_<Schedule>(m, "Schedule")
      .def("__init__", construct, "chunks"_a, "transfers"_a, "segments"_a = 1, "period"_a = 1,
           "weights"_a = std::vector<std::int32_t>(), "window"_a = 0)
      .def_prop_ro("transfers", transfers)
      .def_prop_ro("chunks", &Schedule::chunks)
      .def_prop_ro("segments", [](const Schedule& s) { return s.pipeline().segments; })
      .def_prop_ro("period", [](const Schedule& s) { return s.pipeline().period; })
      .def_prop_ro("window", [](const Schedule& s) { return s.pipeline().window; })
      .def_prop_ro("weights",
                   [](const Schedule& s) {
                     return std::vector<std::int32_t>(s.weights().begin(), s.weights().end());
                   })
      .def("layout", &Schedule::layout, "collective"_a)
      .def("__len__", [](const Schedule& s) { return s.transfers().size(); })
      .def("__iter__", [](const Schedule& s) { return nb::iter(nb::cast(transfers(s))); })
      .def("__eq__", same, nb::is_operator())
      .def("__repr__", describe);
  m.def("verify", verify, "collective"_a, "schedule"_a);
  m.attr("most_chunks") = most_chunks;
}

} // namespace thalweg::bindings
