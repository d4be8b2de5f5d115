#include "exports/otf2.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace thalweg::exports {
namespace {

/// Stands for OTF2's writer of a location.
struct Trace {
  std::string text;
  int result = 0; ///< of every function
};

int add(void* writer, const char* name, std::vector<std::uint64_t> numbers) {
  auto* const trace = static_cast<Trace*>(writer);
  trace->text += name;
  for (const std::uint64_t number : numbers)
    trace->text += " " + std::to_string(number);
  trace->text += "\n";
  return trace->result;
}

Otf2Functions functions() {
  return {
      .enter =
          [](void* w, void*, std::uint64_t t, std::uint32_t region) {
            return add(w, "enter", {t, region});
          },
      .collective_begin = [](void* w, void*, std::uint64_t t) { return add(w, "begin", {t}); },
      .collective_end =
          [](void* w, void*, std::uint64_t t, std::uint8_t operation, std::uint32_t communicator,
             std::uint32_t root, std::uint64_t sent, std::uint64_t received) {
            return add(w, "end", {t, operation, communicator, root, sent, received});
          },
      .leave =
          [](void* w, void*, std::uint64_t t, std::uint32_t region) {
            return add(w, "leave", {t, region});
          },
      .send =
          [](void* w, void*, std::uint64_t t, std::uint32_t to, std::uint32_t communicator,
             std::uint32_t tag, std::uint64_t size) {
            return add(w, "send", {t, to, communicator, tag, size});
          },
      .receive =
          [](void* w, void*, std::uint64_t t, std::uint32_t from, std::uint32_t communicator,
             std::uint32_t tag, std::uint64_t size) {
            return add(w, "receive", {t, from, communicator, tag, size});
          },
  };
}

/// A call with a message to rank 1 and one from rank 2, on communicator 5 with root 3.
struct Call {
  std::vector<std::uint8_t> event{0, 1, 2, 3}, operation{7, 0, 0, 7};
  std::vector<std::uint64_t> time{10, 20, 30, 40}, size{64, 8, 9, 64};
  std::vector<std::uint32_t> communicator{5, 5, 5, 5}, peer{3, 1, 2, 3}, region{6, 0, 0, 6};
  [[nodiscard]] Otf2Events events() const {
    return {event, time, communicator, peer, size, region, operation};
  }
};

} // namespace

TEST_CASE("a call is a region and a collective, with its messages inside") {
  Trace trace;
  CHECK(write(functions(), &trace, Call().events()) == 6);
  CHECK(trace.text == "enter 10 6\nbegin 10\n"
                      "send 20 1 5 0 8\nreceive 30 2 5 0 9\n"
                      "end 40 7 5 3 64 64\nleave 40 6\n");
}

TEST_CASE("an event that can't be written is not passed over in silence") {
  Trace trace{.text = {}, .result = 1};
  CHECK(write(functions(), &trace, Call().events()) == std::nullopt);
}

} // namespace thalweg::exports
