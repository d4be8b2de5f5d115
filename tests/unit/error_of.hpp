#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace thalweg::test {

/// What the std::invalid_argument says that `f` throws; "none" if it throws nothing.
inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
    return "none";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

} // namespace thalweg::test
