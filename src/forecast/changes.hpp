#pragma once

#include "forecast/predictors.hpp"

#include <cstddef>
#include <span>

namespace thalweg::forecast {

/// When deviations from a level are a change of it.
struct Sensitivity {
  /// Deviations up to this count as noise, in the values' unit; of logarithms, a fraction. Half
  /// of the smallest change to be found.
  double slack = 0.1;
  /// What has to accumulate beyond the slack.
  double threshold = 0.5;
  /// A change that is undone within so many observations is spread, not a change.
  std::size_t lasting = 3;
};

/// The two-sided CUSUM of deviations from a level (Page, 1954). O(1) per deviation.
class Cusum {
public:
  explicit Cusum(Sensitivity sensitivity) : _sensitivity(sensitivity) {}
  /// Adds a deviation. @return 1: the level has risen, -1: fallen, 0: neither. The sums begin
  /// anew after a change.
  int add(double deviation);
  /// Whether nothing has accumulated.
  [[nodiscard]] bool calm() const { return _up == 0 && _down == 0; }

private:
  Sensitivity _sensitivity;
  double _up = 0, _down = 0;
};

/// A change of a series' level that lasts.
struct Change {
  double at = 0;                ///< the first observation of the new level
  double before = 0, after = 0; ///< medians
  bool operator==(const Change&) const = default;
};

/// Returns the changes of a series, in order of time. The level is the median of the last 51 values
/// since the change before, and its time is that of the first value that added to the sum. A link
/// that flaps has none: what returns to the level before within `lasting` observations counts as
/// its spread. O(n).
/// @throws std::invalid_argument as forecast(), or for a sensitivity that isn't positive
std::vector<Change> changes(std::span<const Observation> series, Sensitivity sensitivity = {});

} // namespace thalweg::forecast
