#pragma once

#include "runtime/mpi/native.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace thalweg::runtime {

/// What is known about persistent requests of one kind. Thread-safe; costs next to nothing while
/// there are none.
template <class Value>
class RequestMap {
public:
  void add(MPI_Request request, Value value) {
    const std::lock_guard lock(_mutex);
    _values.insert_or_assign(request, std::move(value));
    _any = true;
  }
  std::optional<Value> find(MPI_Request request) {
    if (!_any) return std::nullopt;
    const std::lock_guard lock(_mutex);
    const auto found = _values.find(request);
    return found != _values.end() ? std::optional(found->second) : std::nullopt;
  }
  void erase(MPI_Request request) {
    if (!_any) return;
    std::optional<Value> gone; // destroyed without the lock, since it may call the MPI library
    const std::lock_guard lock(_mutex);
    const auto found = _values.find(request);
    if (found == _values.end()) return;
    gone = std::move(found->second);
    _values.erase(found);
  }
  void clear() {
    std::unordered_map<MPI_Request, Value> gone;
    const std::lock_guard lock(_mutex);
    gone.swap(_values);
  }

private:
  std::atomic<bool> _any{false}; ///< so far
  std::mutex _mutex;
  std::unordered_map<MPI_Request, Value> _values;
};

} // namespace thalweg::runtime
