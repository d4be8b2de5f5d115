#pragma once

#include <cstdint>

namespace thalweg::runtime {

/// Distinguishes the program's own MPI calls from those that an MPI library makes on its behalf.
/// Each intercepted call has one in its frame.
///
/// It has no destructor, so that C++ exceptions and longjmp out of an MPI error handler pass
/// through the frame unhindered; call leave() instead. A guard left behind that way is recognised
/// by its address (a live one is further up the stack than any call made inside it), by its cookie,
/// which later calls often overwrite, and by the frame that its address lies in. Ranks that took a
/// call for the MPI library's own because of what is on their stacks would wait for the others.
class Guard {
public:
  Guard() : _outermost(!inside()) {
    if (!_outermost) return;
    _cookie = address() ^ secret;
    outermost_of_thread = address();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Whether the program made this call, not an intercepted call.
  [[nodiscard]] bool outermost() const { return _outermost; }
  void leave() {
    if (!_outermost) return;
    _cookie = 0;
    outermost_of_thread = 0;
  }

private:
  [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(this); }
  /// Whether a call further up the stack has a guard. It may read memory that is no longer a guard.
  [[nodiscard, gnu::no_sanitize_address]] bool inside() const {
    const std::uintptr_t outer = outermost_of_thread;
    if (outer <= address()) return false;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer to a frame that is gone would dangle
    return reinterpret_cast<const Guard*>(outer)->_cookie == (outer ^ secret) && is_live(outer);
  }
  /// Whether the address `outer`, above this guard's, lies in the frame of another call of this
  /// library. The walk up the stack takes about a microsecond for a few frames. Where it ends
  /// before, at code that was generated at run time or on another stack, the answer is yes.
  [[nodiscard]] bool is_live(std::uintptr_t outer) const;

  static constexpr std::uintptr_t secret = 0x7ea15ed5a17e50f7;
  static inline thread_local std::uintptr_t outermost_of_thread = 0; ///< address of its guard

  volatile std::uintptr_t _cookie = 0;
  bool _outermost;
};

} // namespace thalweg::runtime
