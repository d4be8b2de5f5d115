#include "forecast/changes.hpp"

#include "forecast/series.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace thalweg::forecast {
namespace {

/// The latest values since a change whose median is the level.
constexpr std::size_t most_of_level = 51;

double median_of(std::span<const Observation> series) {
  std::vector<double> values;
  for (const auto& observation : series)
    values.push_back(observation.value);
  return median(std::move(values));
}

/// Goes through a series once, from one level to the next.
class Search {
public:
  Search(std::span<const Observation> series, Sensitivity sensitivity)
      : _series(series), _sensitivity(sensitivity), _cusum(sensitivity) {}

  std::vector<Change> find() {
    for (std::size_t i = 0; i < _series.size(); ++i) {
      if (i - _begin < _sensitivity.lasting) continue;
      if (_cusum.calm()) _suspicious = i;
      if (_cusum.add(_series[i].value - level(_suspicious)) != 0 && !change_at(_suspicious))
        break; // too little follows to tell
    }
    return std::move(_found);
  }

private:
  /// Returns the level before an observation.
  [[nodiscard]] double level(std::size_t end) const {
    const std::size_t begin = std::max(_begin, end - std::min(end, most_of_level));
    return median_of(_series.subspan(begin, end - begin));
  }

  /// Records a change that lasts. @return whether enough observations follow to tell
  bool change_at(std::size_t first) {
    const auto rest = _series.subspan(first);
    if (rest.size() <= _sensitivity.lasting) return false;
    const double before = level(first);
    const double after = median_of(rest.first(std::min(rest.size(), 2 * _sensitivity.lasting + 1)));
    const auto is_back = [&](const Observation& observation) {
      return std::abs(observation.value - before) <= std::abs(observation.value - after);
    };
    if (std::abs(after - before) < 2 * _sensitivity.slack ||
        std::ranges::any_of(rest.first(_sensitivity.lasting + 1), is_back))
      return true;
    _found.push_back({_series[first].at, before, after});
    _begin = first;
    return true;
  }

  std::span<const Observation> _series;
  Sensitivity _sensitivity;
  Cusum _cusum;
  std::size_t _begin = 0, _suspicious = 0;
  std::vector<Change> _found;
};

} // namespace

int Cusum::add(double deviation) {
  _up = std::max(0.0, _up + deviation - _sensitivity.slack);
  _down = std::max(0.0, _down - deviation - _sensitivity.slack);
  const int found = _up > _sensitivity.threshold ? 1 : _down > _sensitivity.threshold ? -1 : 0;
  if (found != 0) _up = _down = 0;
  return found;
}

std::vector<Change> changes(std::span<const Observation> series, Sensitivity sensitivity) {
  check(series);
  if (!(sensitivity.slack > 0) || !(sensitivity.threshold > 0) || sensitivity.lasting == 0)
    throw std::invalid_argument("slack, threshold and lasting must be positive");
  return Search(series, sensitivity).find();
}

} // namespace thalweg::forecast
