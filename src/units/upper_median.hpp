#pragma once

#include <algorithm>
#include <vector>

namespace thalweg {

/// Returns the median of at least one value, of an even number the upper one: always one of them,
/// where forecast::median() takes the mean of the middle two.
template <class Value>
[[nodiscard]] Value upper_median(std::vector<Value> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

} // namespace thalweg
