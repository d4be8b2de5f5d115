#pragma once

#include <memory>
#include <string>
#include <vector>

/// Forecasts of a quantity from its history, and changes in it. Values are what the caller makes of
/// them; of latencies and rates, logarithms, so that an error is a fraction of the value.
namespace thalweg::forecast {

/// A value, and when it was measured.
struct Observation {
  double at = 0; ///< seconds since 1970, UTC
  double value = 0;
};

/// Predicts the next value of a series from all earlier ones.
class Predictor {
public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  /// Adds the next observation.
  virtual void observe(Observation observation) = 0;
  /// Predicts the value at a time; meaningless before the first observation.
  [[nodiscard]] virtual double predict(double at) const = 0;
};

/// Returns new predictors that have seen nothing: the last value; means and medians of the last
/// few values and of all; exponential smoothing; the same by hour of the day (UTC); and smoothing
/// of a level with an offset for each hour of the day (after Holt and Winters). Each takes at most
/// O(window) for an observation or a prediction, and O(window) memory.
std::vector<std::unique_ptr<Predictor>> all_predictors();

} // namespace thalweg::forecast
