#pragma once

#include <algorithm>
#include <mutex>
#include <set>

namespace thalweg::runtime {

/// The numbers of communicators. Thread-safe.
class Tags {
public:
  /// Returns a number that this process hasn't proposed before.
  int propose() {
    const std::lock_guard lock(_mutex);
    return _next++;
  }
  /// Whether no other communicator of this process uses the number; it is then in use.
  bool claim(int tag) {
    const std::lock_guard lock(_mutex);
    _next = std::max(_next, tag + 1);
    return _used.insert(tag).second;
  }
  void release(int tag) {
    const std::lock_guard lock(_mutex);
    _used.erase(tag);
  }

private:
  std::mutex _mutex;
  std::set<int> _used;
  int _next = 1; ///< COMM_WORLD has 0
};

} // namespace thalweg::runtime
