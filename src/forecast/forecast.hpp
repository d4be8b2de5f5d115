#pragma once

#include "forecast/predictors.hpp"

#include <cstddef>
#include <span>

namespace thalweg::forecast {

/// A value to expect, and how far off such forecasts were.
struct Forecast {
  double value = 0;
  /// The mean absolute error of the forecasts so far, recent ones counting more; infinite before
  /// the second observation.
  double error = 0;
  std::string predictor; ///< the best so far, which decides
};

/// Runs all predictors side by side. The forecast is that of the predictor whose errors so far are
/// least (the Network Weather Service's rule: Wolski, Spring and Hayes, 1999), where recent errors
/// count more; predictors that are about as good, at most two more, are averaged with it, which
/// spares the noise of choosing among equals.
class Forecaster {
public:
  Forecaster();
  /// Adds the next observation. O(sum of the predictors' windows).
  void observe(Observation observation);
  /// Returns the forecast for a time; without any observation 0 with an infinite error.
  [[nodiscard]] Forecast at(double time) const;

private:
  [[nodiscard]] std::vector<std::size_t> ranking() const;
  [[nodiscard]] double mean_of_best(const std::vector<double>& predictions) const;
  [[nodiscard]] std::vector<double> predictions(double at) const;
  std::vector<std::unique_ptr<Predictor>> _predictors;
  std::vector<double> _errors; ///< by predictor, discounted
  double _own_error = 0, _weight = 0;
  std::size_t _count = 0;
};

/// Returns the forecast of a series for a time. @throws std::invalid_argument for values that
/// aren't finite, or times that don't ascend
Forecast forecast(std::span<const Observation> series, double at);

/// The forecasts of every value of a series but the first, each from the ones before it.
struct Hindsight {
  std::vector<double> forecast; ///< by observation; of the first, its own value
  std::vector<std::string> names;
  std::vector<std::vector<double>> predicted; ///< by predictor, by observation
};

/// Returns what would have been forecast. @throws as forecast()
Hindsight hindsight(std::span<const Observation> series);

} // namespace thalweg::forecast
