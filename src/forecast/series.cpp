#include "forecast/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace thalweg::forecast {

void check(std::span<const Observation> series) {
  double before = -std::numeric_limits<double>::infinity();
  for (const auto [at, value] : series) {
    if (!std::isfinite(value) || !std::isfinite(at))
      throw std::invalid_argument("a series has a time or value that isn't finite: leave it out");
    if (at < before)
      throw std::invalid_argument("a series' times must ascend: sort its observations by time");
    before = at;
  }
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

} // namespace thalweg::forecast
