#pragma once

#include <concepts>
#include <cstddef>

namespace thalweg {

/// Converts an id, or any other number of at least 0, to a position in a container.
template <std::integral Number>
constexpr std::size_t index(Number value) {
  return static_cast<std::size_t>(value);
}

} // namespace thalweg
