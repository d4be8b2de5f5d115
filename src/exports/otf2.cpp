#include "exports/otf2.hpp"

namespace thalweg::exports {

std::optional<std::uint64_t> write(const Otf2Functions& otf2, void* writer,
                                   const Otf2Events& events) {
  constexpr void* no_attributes = nullptr;
  constexpr std::uint32_t tag = 0;
  int failed = 0;
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < events.time.size(); ++at) {
    const std::uint64_t time = events.time[at], size = events.size[at];
    const std::uint32_t communicator = events.communicator[at], peer = events.peer[at];
    switch (static_cast<Otf2Event>(events.event[at])) {
    case Otf2Event::enter:
      failed |= otf2.enter(writer, no_attributes, time, events.region[at]);
      failed |= otf2.collective_begin(writer, no_attributes, time);
      count += 2;
      break;
    case Otf2Event::send:
      failed |= otf2.send(writer, no_attributes, time, peer, communicator, tag, size);
      ++count;
      break;
    case Otf2Event::receive:
      failed |= otf2.receive(writer, no_attributes, time, peer, communicator, tag, size);
      ++count;
      break;
    case Otf2Event::leave:
      failed |= otf2.collective_end(writer, no_attributes, time, events.operation[at], communicator,
                                    peer, size, size);
      failed |= otf2.leave(writer, no_attributes, time, events.region[at]);
      count += 2;
      break;
    }
  }
  if (failed != 0) return std::nullopt;
  return count;
}

} // namespace thalweg::exports
