#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "units/units.hpp"

/// What is concluded from samples.
namespace thalweg::probe {

using units::Rate;
using units::Size;
using units::Time;

/// Nanoseconds of a clock.
using Nanoseconds = std::int64_t;

/// A value and half of its 95 % confidence interval, relative to it; infinite if unknown.
struct Estimate {
  double value = 0;
  double error = 0;
};

/// Estimates a latency from samples that noise can only lengthen: their lower decile. The interval comes
/// from order statistics (binomial), so it assumes no distribution.
class LowQuantile {
public:
  void add(Nanoseconds sample);
  [[nodiscard]] std::size_t count() const { return _sorted.size(); }
  /// In nanoseconds; at least one sample needed.
  [[nodiscard]] Estimate estimate() const;
  /// At least `minimum` samples, and the interval at most ± `tolerance`.
  [[nodiscard]] bool tight(std::size_t minimum, double tolerance) const;

private:
  std::vector<Nanoseconds> _sorted;
};

double median(std::vector<double> samples);

/// The rate (bytes/s) of one stream of equal messages in its steady part, the second half of the
/// arrivals; the error by batch means. Needs at least 4 arrivals, ascending.
Estimate steady_rate(std::span<const Nanoseconds> arrivals, Size message);

/// The length of the part that steady_rate looks at.
Nanoseconds steady_length(std::span<const Nanoseconds> arrivals);

/// Arrivals of one flow, on a clock common to all flows.
struct Flow {
  std::vector<Nanoseconds> arrivals;
  Size message = 0;
};

/// The rate of all flows together while all of them flow: between the latest end of a flow's first
/// quarter and the earliest last arrival. Zero if there is no such time.
Rate aggregate_rate(std::span<const Flow> flows);

} // namespace thalweg::probe
