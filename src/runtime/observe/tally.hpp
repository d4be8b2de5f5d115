#pragma once

#include <atomic>

namespace thalweg::runtime::observe {

/// Whether several threads may call MPI at the same time: MPI_THREAD_MULTIPLE. Set in MPI_Init,
/// before which it is taken to be so.
inline std::atomic<bool> concurrent{true};

/// A number that calls add to. Thread-safe, and as cheap as a plain number unless threads may call
/// at the same time.
template <class T>
class Tally {
public:
  /// Returns the number before.
  T add(T more) {
    constexpr auto relaxed = std::memory_order_relaxed;
    if (concurrent.load(relaxed)) return _value.fetch_add(more, relaxed);
    const T before = _value.load(relaxed);
    _value.store(before + more, relaxed);
    return before;
  }
  [[nodiscard]] T value() const { return _value.load(); }

private:
  std::atomic<T> _value{0};
};

} // namespace thalweg::runtime::observe
