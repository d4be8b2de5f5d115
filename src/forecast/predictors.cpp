#include "forecast/predictors.hpp"

#include "forecast/series.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>

namespace thalweg::forecast {
namespace {

constexpr std::size_t hours = 24;

std::size_t hour_of(double at) {
  const double hour = std::floor(at / 3600);
  return static_cast<std::size_t>(hour - std::floor(hour / hours) * hours) % hours;
}

std::string named(std::string_view what, double parameter) {
  std::string text = std::to_string(parameter);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return std::string(what) + " " + text;
}

class Last : public Predictor {
public:
  [[nodiscard]] std::string name() const override { return "last"; }
  void observe(Observation observation) override { _value = observation.value; }
  [[nodiscard]] double predict(double /*at*/) const override { return _value; }

private:
  double _value = 0;
};

class MeanOfAll : public Predictor {
public:
  [[nodiscard]] std::string name() const override { return "mean"; }
  void observe(Observation observation) override {
    _mean += (observation.value - _mean) / static_cast<double>(++_count);
  }
  [[nodiscard]] double predict(double /*at*/) const override { return _mean; }

private:
  double _mean = 0;
  std::size_t _count = 0;
};

/// What predictors of the last few values share.
class Windowed : public Predictor {
public:
  explicit Windowed(std::size_t window) : _window(window) {}
  void observe(Observation observation) override {
    _values.push_back(observation.value);
    if (_values.size() > _window) _values.pop_front();
  }

protected:
  [[nodiscard]] std::size_t window() const { return _window; }
  [[nodiscard]] const std::deque<double>& values() const { return _values; }

private:
  std::size_t _window;
  std::deque<double> _values;
};

class Mean : public Windowed {
public:
  using Windowed::Windowed;
  [[nodiscard]] std::string name() const override {
    return named("mean", static_cast<double>(window()));
  }
  [[nodiscard]] double predict(double /*at*/) const override {
    double sum = 0;
    for (const double value : values())
      sum += value;
    return values().empty() ? 0 : sum / static_cast<double>(values().size());
  }
};

class Median : public Windowed {
public:
  using Windowed::Windowed;
  [[nodiscard]] std::string name() const override {
    return named("median", static_cast<double>(window()));
  }
  [[nodiscard]] double predict(double /*at*/) const override {
    return median({values().begin(), values().end()});
  }
};

class Smoothing : public Predictor {
public:
  explicit Smoothing(double gain) : _gain(gain) {}
  [[nodiscard]] std::string name() const override { return named("smoothing", _gain); }
  void observe(Observation observation) override {
    _level = _level ? *_level + _gain * (observation.value - *_level) : observation.value;
  }
  [[nodiscard]] double predict(double /*at*/) const override { return _level.value_or(0); }

private:
  double _gain;
  std::optional<double> _level;
};

/// Smooths the values of each hour of the day apart; the last value where the hour is new.
class Hourly : public Predictor {
public:
  explicit Hourly(double gain) : _gain(gain) {}
  [[nodiscard]] std::string name() const override { return named("hourly", _gain); }
  void observe(Observation observation) override {
    auto& level = _levels[hour_of(observation.at)];
    level = level ? *level + _gain * (observation.value - *level) : observation.value;
    _last = observation.value;
  }
  [[nodiscard]] double predict(double at) const override {
    return _levels[hour_of(at)].value_or(_last);
  }

private:
  double _gain;
  std::array<std::optional<double>, hours> _levels;
  double _last = 0;
};

/// Smooths a level, and an offset from it for each hour of the day: what a jump of the level
/// changes is known at once for all hours.
class DailyCourse : public Predictor {
public:
  DailyCourse(double gain, double hourly_gain) : _gain(gain), _hourly_gain(hourly_gain) {}
  [[nodiscard]] std::string name() const override { return named("daily course", _hourly_gain); }
  void observe(Observation observation) override {
    if (!_level) _level = observation.value;
    const double error = observation.value - predict(observation.at);
    *_level += _gain * error;
    _offsets[hour_of(observation.at)] += _hourly_gain * (1 - _gain) * error;
  }
  [[nodiscard]] double predict(double at) const override {
    return _level.value_or(0) + _offsets[hour_of(at)];
  }

private:
  double _gain, _hourly_gain;
  std::optional<double> _level;
  std::array<double, hours> _offsets{};
};

} // namespace

std::vector<std::unique_ptr<Predictor>> all_predictors() {
  std::vector<std::unique_ptr<Predictor>> all;
  all.push_back(std::make_unique<Last>());
  for (const std::size_t window : {5U, 20U})
    all.push_back(std::make_unique<Mean>(window));
  all.push_back(std::make_unique<MeanOfAll>());
  for (const std::size_t window : {5U, 11U, 51U})
    all.push_back(std::make_unique<Median>(window));
  for (const double gain : {0.1, 0.35, 0.75})
    all.push_back(std::make_unique<Smoothing>(gain));
  for (const double gain : {0.1, 0.3})
    all.push_back(std::make_unique<Hourly>(gain));
  all.push_back(std::make_unique<DailyCourse>(0.3, 0.1));
  return all;
}

} // namespace thalweg::forecast
