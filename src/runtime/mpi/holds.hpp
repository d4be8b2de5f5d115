#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace thalweg::runtime {

/// Keeps objects of the MPI library, which operations in progress use, when the program frees them.
/// Thread-safe.
template <class Handle>
class Holds {
public:
  void hold(Handle handle) {
    const std::lock_guard lock(_mutex);
    ++_uses[handle].count;
  }
  /// Ends what hold() began. Returns how often the caller must free the object now: MPICH's
  /// MPI_Type_get_contents gives a handle once more, which the program frees as often.
  std::int64_t release(Handle handle) {
    const std::lock_guard lock(_mutex);
    const auto found = _uses.find(handle);
    if (--found->second.count > 0) return 0;
    const std::int64_t frees = found->second.frees;
    _uses.erase(found);
    return frees;
  }
  /// Called when the program frees an object. Returns whether that must be left to release().
  bool defer(Handle handle) {
    const std::lock_guard lock(_mutex);
    const auto found = _uses.find(handle);
    if (found == _uses.end()) return false;
    ++found->second.frees;
    return true;
  }

private:
  struct Use {
    std::int64_t count = 0;
    std::int64_t frees = 0; ///< by the program
  };
  std::mutex _mutex;
  std::unordered_map<Handle, Use> _uses;
};

} // namespace thalweg::runtime
