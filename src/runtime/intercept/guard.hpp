#pragma once

#include <cstdint>

namespace thalweg::runtime {

/// Tells the program's own MPI calls from those that an MPI library makes on its behalf. One stands
/// in the frame of each intercepted call.
///
/// It has no destructor, so that C++ exceptions and longjmp out of an MPI error handler pass
/// through the frame unhindered; call leave() instead. A guard that was left behind that way is
/// recognised by its address (a live one lies further up the stack than any call made inside it),
/// and by its cookie, which later calls soon overwrite.
class Guard {
public:
  Guard() {
    const Guard* outer = outermost_of_thread;
    const bool inside = outer != nullptr && address(outer) > address(this) &&
                        outer->_cookie == (address(outer) ^ secret);
    _outermost = !inside;
    if (!_outermost) return;
    _cookie = address(this) ^ secret;
    outermost_of_thread = this;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Whether the program, not an intercepted call, made this one.
  [[nodiscard]] bool outermost() const { return _outermost; }
  void leave() {
    if (!_outermost) return;
    _cookie = 0;
    outermost_of_thread = nullptr;
  }

private:
  static std::uintptr_t address(const Guard* guard) {
    return reinterpret_cast<std::uintptr_t>(guard);
  }
  static constexpr std::uintptr_t secret = 0x7ea15ed5a17e50f7;
  static inline thread_local const Guard* outermost_of_thread = nullptr;

  volatile std::uintptr_t _cookie = 0;
  bool _outermost;
};

} // namespace thalweg::runtime
