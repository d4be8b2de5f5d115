#pragma once

#include <cfenv>

namespace thalweg::runtime {

/// While it lives, this thread computes as if the program had changed nothing: it rounds to
/// nearest, keeps tiny numbers and traps nothing. Afterwards the program's floating-point
/// environment is as it was, flags included. What ranks compute to decide alike needs it, and
/// programs that trap or look for exceptions mustn't find ours. It takes about 0.1 µs.
class OwnArithmetic {
public:
  OwnArithmetic() {
    std::fegetenv(&_before);
    std::fesetenv(FE_DFL_ENV);
  }
  OwnArithmetic(const OwnArithmetic&) = delete;
  OwnArithmetic& operator=(const OwnArithmetic&) = delete;
  ~OwnArithmetic() { std::fesetenv(&_before); }

private:
  std::fenv_t _before{};
};

} // namespace thalweg::runtime
