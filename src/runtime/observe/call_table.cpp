#include "runtime/observe/call_table.hpp"

#include "runtime/observe/tally.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

namespace thalweg::runtime::observe {

std::size_t CallTable::Hash::operator()(const CallKey& key) const {
  std::array<std::uint64_t, sizeof(CallKey) / 8> words{};
  std::memcpy(words.data(), &key, sizeof key);
  std::uint64_t result = 0;
  for (const std::uint64_t word : words)
    result = (result ^ word ^ (result >> 29)) * 0x9e3779b97f4a7c15;
  return result ^ (result >> 32);
}

void CallTable::count(const CallKey& key, const Counters::Call& call) {
  std::unique_lock lock(_mutex, std::defer_lock);
  if (concurrent) lock.lock();
  CallsEntry& entry = find(key);
  entry.least = entry.calls == 0 ? call.time : std::min(entry.least, call.time);
  entry.most = std::max(entry.most, call.time);
  ++entry.calls;
  entry.bytes += static_cast<std::uint64_t>(call.bytes);
  entry.time += call.time;
  entry.native_ns += call.native_ns;
  entry.bound_ns += call.bound_ns;
}

/// Without memory, calls are counted as lost.
CallsEntry& CallTable::find(const CallKey& key) {
  CallsEntry*& latest = _latest[Hash()(key) % _latest.size()];
  if (latest != nullptr && latest->key == key) return *latest;
  try {
    CallsEntry*& found = _entries[key];
    if (found == nullptr) {
      found = _file.add<CallsEntry>();
      if (found == nullptr) return _lost;
      found->key = key;
    }
    latest = found;
    return *found;
  } catch (const std::exception&) {
    return _lost;
  }
}

void CallTable::add(const CommunicatorEntry& communicator) {
  const std::lock_guard lock(_mutex);
  try {
    CommunicatorEntry*& known = _communicators[communicator.members];
    if (known != nullptr) return;
    known = _file.add<CommunicatorEntry>();
    if (known == nullptr) return;
    const EntryHead head = known->head;
    *known = communicator;
    known->head = head;
  } catch (const std::exception&) {
    return;
  }
}

} // namespace thalweg::runtime::observe
