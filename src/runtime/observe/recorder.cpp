#include "runtime/observe/recorder.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

namespace thalweg::runtime::observe {

Recorder::Recorder(std::size_t capacity)
    : _capacity(capacity),
      // calloc leaves unused pages untouched.
      _events(static_cast<Event*>(std::calloc(capacity, sizeof(Event)))) {
  if (!_events) throw std::bad_alloc();
}

bool Recorder::write(const std::string& path, int world_rank, int world_size) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
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
  bool good = std::fwrite(&header, sizeof header, 1, file) == 1;
  for (std::uint64_t i = count - kept; i < count && good; ++i) {
    Event event = _events.get()[i & (_capacity - 1)];
    if (event.type == EventType::transfer) {
      event.transfer.posted = _calibration.to_ns(event.transfer.posted);
      event.transfer.done = _calibration.to_ns(event.transfer.done);
      event.transfer.applied = _calibration.to_ns(event.transfer.applied);
    } else {
      event.call.enter = _calibration.to_ns(event.call.enter);
      event.call.exit = _calibration.to_ns(event.call.exit);
    }
    good = std::fwrite(&event, sizeof event, 1, file) == 1;
  }
  return (std::fclose(file) == 0) && good;
}

} // namespace thalweg::runtime::observe
