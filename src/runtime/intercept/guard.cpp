#include "runtime/intercept/guard.hpp"

#include "runtime/mpi/process.hpp"

#include <unwind.h>

namespace thalweg::runtime {
namespace {

/// A walk up the stack to the frame that holds an address.
class Walk {
public:
  /// @param inner an address in the frame of the call that asks
  /// @param outer an address above it
  Walk(std::uintptr_t inner, std::uintptr_t outer) : _inner(inner), _outer(outer) {
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* walk) {
          return static_cast<Walk*>(walk)->enter(_Unwind_GetCFA(context), _Unwind_GetIP(context));
        },
        this);
  }

  /// Whether a frame was found that holds the outer address.
  [[nodiscard]] bool arrived() const { return _arrived; }
  /// Whether that is another frame than that of the call that asks, and of this library.
  [[nodiscard]] bool is_call() const { return _begin > _inner && is_own_code(_code); }

private:
  /// @param begin the lowest address of the next frame
  /// @param code where its function goes on
  _Unwind_Reason_Code enter(std::uintptr_t begin, std::uintptr_t code) {
    _arrived = begin > _outer;
    if (_arrived) return _URC_NORMAL_STOP;
    _begin = begin;
    _code = code;
    return _URC_NO_REASON;
  }

  std::uintptr_t _inner, _outer;
  std::uintptr_t _begin = 0, _code = 0; ///< of the last frame that begins below the outer address
  bool _arrived = false;
};

} // namespace

bool Guard::is_live(std::uintptr_t outer) const {
  const Walk walk(address(), outer);
  return !walk.arrived() || walk.is_call();
}

} // namespace thalweg::runtime
