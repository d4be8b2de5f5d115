#include "runtime/observe/recorder.hpp"

#include "units/whole_file.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace thalweg::runtime::observe {

Recorder::Recorder(std::size_t capacity)
    : _capacity(capacity),
      // calloc leaves unused pages untouched.
      _events(static_cast<Event*>(std::calloc(capacity, sizeof(Event)))) {
  if (!_events) throw std::bad_alloc();
}

std::string Recorder::write(const std::string& path, int world_rank, int world_size) {
  _calibration.calibrate();
  const std::uint64_t count = _count.value();
  const std::uint64_t kept = std::min<std::uint64_t>(count, _capacity);
  FileHeader header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.record_size = sizeof(Event);
  header.version = version;
  header.world_rank = world_rank;
  header.world_size = world_size;
  header.dropped = count - kept;
  units::WholeFile file(path);
  file.write(&header, sizeof header);
  for (std::uint64_t i = count - kept; i < count; ++i) {
    Event event = _events.get()[i & (_capacity - 1)];
    if (event.type == EventType::transfer) {
      event.transfer.posted = _calibration.to_ns(event.transfer.posted);
      event.transfer.done = _calibration.to_ns(event.transfer.done);
      event.transfer.applied = _calibration.to_ns(event.transfer.applied);
    } else {
      event.call.enter = _calibration.to_ns(event.call.enter);
      event.call.exit = _calibration.to_ns(event.call.exit);
    }
    file.write(&event, sizeof event);
  }
  return file.finish();
}

} // namespace thalweg::runtime::observe
