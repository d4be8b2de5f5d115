#pragma once

#include "forecast/predictors.hpp"

#include <span>

namespace thalweg::forecast {

/// @throws std::invalid_argument if a number isn't finite, or the times don't ascend
void check(std::span<const Observation> series);

/// Returns the median: of an even number of values, the mean of the middle two; 0 of none.
double median(std::vector<double> values);

} // namespace thalweg::forecast
