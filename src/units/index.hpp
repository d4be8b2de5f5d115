#pragma once

#include <concepts>
#include <cstddef>

namespace thalweg {

/// An id, or any other number that is at least 0, as a position in a container.
template <std::integral Number>
constexpr std::size_t index(Number value) {
  return static_cast<std::size_t>(value);
}

} // namespace thalweg
