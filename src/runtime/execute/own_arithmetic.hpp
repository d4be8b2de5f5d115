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

/// A floating-point environment of the program, for what another thread computes for it: its way of
/// rounding, its traps and what becomes of tiny numbers.
class ProgramArithmetic {
public:
  /// Takes that of this thread.
  ProgramArithmetic() { std::fegetenv(&_programs); }
  /// Lets this thread compute in it as long as that lives, and in its own afterwards.
  class Scope {
  public:
    explicit Scope(const ProgramArithmetic& of) { std::fesetenv(&of._programs); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { std::fesetenv(FE_DFL_ENV); }
  };

private:
  std::fenv_t _programs{};
};

} // namespace thalweg::runtime
