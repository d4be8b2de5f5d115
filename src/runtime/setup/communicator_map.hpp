#pragma once

#include "runtime/mpi/native.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace thalweg::runtime {

/// The callback for attributes of communicators that duplicates don't inherit.
inline int no_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

/// Something about each of the communicators, or other objects of MPI, that have been used, by
/// handle. The owner takes an entry out when MPI frees the object, so that a reused handle starts
/// anew. Thread-safe.
template <class Value, class Handle = MPI_Comm>
class CommunicatorMap {
public:
  /// Returns null if there is nothing. A plain look-up: any handle is allowed. The last one that a
  /// thread asked for costs it a few nanoseconds.
  [[nodiscard]] Value* find(Handle handle) {
    struct Last {
      const CommunicatorMap* among;
      std::uint64_t version;
      Handle handle;
      Value* found;
    };
    static thread_local Last last{};
    if (last.among == this && last.handle == handle && last.version == _version) return last.found;
    const std::lock_guard lock(_mutex);
    const auto found = _values.find(handle);
    last = {this, _version, handle, found != _values.end() ? found->second.get() : nullptr};
    return last.found;
  }
  /// Returns what is there: `value`, or what another thread has added meanwhile; and whether it is
  /// `value`. Only then does the caller set the attribute by which the entry is taken out: setting
  /// it again would delete the one before, and with it the entry.
  std::pair<Value&, bool> add(Handle handle, std::unique_ptr<Value> value) {
    const std::lock_guard lock(_mutex);
    const auto [found, is_new] = _values.try_emplace(handle, std::move(value));
    if (is_new) ++_version;
    return {*found->second, is_new};
  }
  /// Returns null if there is nothing.
  std::unique_ptr<Value> take(Handle handle) {
    const std::lock_guard lock(_mutex);
    const auto found = _values.find(handle);
    if (found == _values.end()) return nullptr;
    ++_version;
    return std::move(_values.extract(found).mapped());
  }
  /// Takes any one out. Returns null if there is nothing any more.
  std::unique_ptr<Value> take_any() {
    const std::lock_guard lock(_mutex);
    if (_values.empty()) return nullptr;
    ++_version;
    return std::move(_values.extract(_values.begin()).mapped());
  }
  /// @param body must not block: it is called with the lock
  template <class Body>
  void for_each(const Body& body) {
    const std::lock_guard lock(_mutex);
    for (const auto& [handle, value] : _values)
      body(*value);
  }

private:
  std::mutex _mutex;
  std::unordered_map<Handle, std::unique_ptr<Value>> _values;
  std::atomic<std::uint64_t> _version{0}; ///< of _values: the number of changes
};

} // namespace thalweg::runtime
