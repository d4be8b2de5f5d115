#include "runtime/observe/recorder.hpp"

#include <algorithm>
#include <cstring>

namespace thalweg::runtime::observe {
namespace {

constexpr std::size_t least_growth = std::size_t{1} << 20, most_growth = std::size_t{1} << 24;

/// Returns the bytes by which a file of this size grows: larger ones seldom, but never for so long
/// that a call takes noticeably longer.
std::size_t growth_of(std::size_t size) { return std::clamp(size / 8, least_growth, most_growth); }

std::uint64_t room_of(std::size_t bytes) { return (bytes - sizeof(FileHeader)) / sizeof(Event); }

} // namespace

std::string Recorder::open(const std::string& path, const Identity& identity, std::size_t most) {
  most = std::max(std::min(most, all), sizeof(Event));
  if (std::string problem = _file.open(path, sizeof(FileHeader) + most); !problem.empty())
    return problem;
  if (!_file.grow(std::min(sizeof(FileHeader) + most, least_growth))) return _file.problem();
  FileHeader header;
  std::memcpy(header.magic, magic, sizeof magic);
  header.record_size = sizeof(Event);
  header.world_rank = identity.world_rank;
  header.world_size = identity.world_size;
  header.run = identity.run;
  header.room = room_of(_file.size());
  std::memcpy(_file.data(), &header, sizeof header);
  static_assert(sizeof(*_count) == sizeof header.count);
  _count = reinterpret_cast<std::atomic<std::uint64_t>*>(&this->header().count);
  _room = header.room;
  _most = most / sizeof(Event);
  _events = _file.data() + sizeof header;
  return {};
}

/// Makes room for an event, or finds the oldest one's place.
std::uint64_t Recorder::position_beyond(std::uint64_t number) {
  if (_room < _most) {
    const std::lock_guard lock(_mutex);
    while (number >= _room && _room < _most) {
      const std::size_t most = sizeof(FileHeader) + _most * sizeof(Event);
      if (!_file.grow(std::min(_file.size() + growth_of(_file.size()), most))) _most = _room;
      header().room = _room = std::min(room_of(_file.size()), _most);
    }
  }
  return number % _room;
}

void Recorder::write(const void* event) {
  constexpr auto relaxed = std::memory_order_relaxed;
  std::uint64_t number = 0;
  if (concurrent.load(relaxed))
    number = _count->fetch_add(1, relaxed);
  else
    _count->store((number = _count->load(relaxed)) + 1, relaxed);
  if (number >= _room.load(relaxed)) number = position_beyond(number);
  std::byte* const place = _events + number * sizeof(Event);
  // The first word, with the type, comes last: of a killed process no half event is left. It is
  // killed between two of its instructions, so their order is all that matters.
  std::uint64_t first = 0;
  std::memcpy(&first, event, sizeof first);
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(place));
  word.store(0, relaxed);
  std::atomic_signal_fence(std::memory_order_release);
  std::memcpy(place + sizeof first, static_cast<const std::byte*>(event) + sizeof first,
              sizeof(Event) - sizeof first);
  word.store(first, std::memory_order_release);
}

void Recorder::set_clock(const ClockFit& clock) {
  header().clock = clock;
  const bool twice = clock.error_ns[1] >= 0;
  header().clock_offset_ns =
      twice ? (clock.offset_ns[0] + clock.offset_ns[1]) / 2 : clock.offset_ns[0];
}

void TransferLog::add(TransferEvent event) const {
  constexpr std::uint8_t send = 0, receive = 1;
  if (pairs != nullptr && event.direction == receive)
    pairs->received(event.peer, event.step, event.posted, event.done);
  if (recorder == nullptr && links == nullptr) return;
  event.peer = world_ranks[event.peer];
  event.applied = event.direction == send ? event.done : observe::now();
  if (links != nullptr && event.direction == send)
    links->sent(event.peer, event.size, event.posted);
  if (links != nullptr && event.direction == receive)
    links->received(event.peer, event.size, event.posted, event.done);
  if (recorder == nullptr) return;
  event.collective = common.collective;
  event.call = common.call;
  event.tag = common.tag;
  recorder->add(event);
}

} // namespace thalweg::runtime::observe
