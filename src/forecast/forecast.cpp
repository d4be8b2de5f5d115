#include "forecast/forecast.hpp"

#include "forecast/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace thalweg::forecast {
namespace {

/// What an error counts after each further observation.
constexpr double memory = 0.99;
/// Predictors are about as good as the best if their errors exceed its by at most this fraction.
constexpr double about = 0.05;
constexpr std::size_t most_averaged = 3;

} // namespace

Forecaster::Forecaster() : _predictors(all_predictors()), _errors(_predictors.size()) {}

std::vector<double> Forecaster::predictions(double at) const {
  std::vector<double> result;
  for (const auto& predictor : _predictors)
    result.push_back(predictor->predict(at));
  return result;
}

std::vector<std::size_t> Forecaster::ranking() const {
  std::vector<std::size_t> order(_errors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t p) { return _errors[p]; });
  return order;
}

double Forecaster::mean_of_best(const std::vector<double>& predictions) const {
  const auto order = ranking();
  double sum = 0;
  std::size_t count = 0;
  for (const auto p : order) {
    if (count == most_averaged || _errors[p] > _errors[order.front()] * (1 + about)) break;
    sum += predictions[p], ++count;
  }
  return sum / static_cast<double>(count);
}

void Forecaster::observe(Observation observation) {
  if (_count > 0) {
    const auto predicted = predictions(observation.at);
    const double own = std::abs(mean_of_best(predicted) - observation.value);
    _own_error = memory * _own_error + own;
    _weight = memory * _weight + 1;
    for (std::size_t p = 0; p < predicted.size(); ++p)
      _errors[p] = memory * _errors[p] + std::abs(predicted[p] - observation.value);
  }
  for (const auto& predictor : _predictors)
    predictor->observe(observation);
  ++_count;
}

Forecast Forecaster::at(double time) const {
  const double error = _weight > 0 ? _own_error / _weight : std::numeric_limits<double>::infinity();
  if (_count == 0) return {0, error, ""};
  return {mean_of_best(predictions(time)), error, _predictors[ranking().front()]->name()};
}

Forecast forecast(std::span<const Observation> series, double at) {
  check(series);
  Forecaster forecaster;
  for (const auto observation : series)
    forecaster.observe(observation);
  return forecaster.at(at);
}

Hindsight hindsight(std::span<const Observation> series) {
  check(series);
  Hindsight result;
  Forecaster forecaster;
  const auto predictors = all_predictors();
  for (const auto& predictor : predictors)
    result.names.push_back(predictor->name());
  result.predicted.resize(predictors.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    const auto [at, value] = series[i];
    result.forecast.push_back(i == 0 ? value : forecaster.at(at).value);
    forecaster.observe(series[i]);
    for (std::size_t p = 0; p < predictors.size(); ++p) {
      result.predicted[p].push_back(i == 0 ? value : predictors[p]->predict(at));
      predictors[p]->observe(series[i]);
    }
  }
  return result;
}

} // namespace thalweg::forecast
