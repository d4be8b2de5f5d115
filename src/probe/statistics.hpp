#pragma once

#include "units/units.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// Conclusions from samples.
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

/// Estimates a latency as the lowest fiftieth of samples that noise can only lengthen. The interval
/// comes from order statistics (binomial), so it assumes no distribution.
class LowQuantile {
public:
  void add(Nanoseconds sample);
  [[nodiscard]] std::size_t count() const { return _sorted.size(); }
  /// Returns nanoseconds; without any sample 0, with an infinite error.
  [[nodiscard]] Estimate estimate() const;
  /// Whether there are at least `minimum` samples, and the interval is at most ± `tolerance`.
  [[nodiscard]] bool tight(std::size_t minimum, double tolerance) const;

private:
  std::vector<Nanoseconds> _sorted;
};

/// Returns the median of at least one sample.
double median(std::vector<double> samples);

/// The steady part of a stream.
struct Steady {
  Estimate rate;          ///< bytes/s; the error by batch means, which frames make wider than it is
  double drift = 0;       ///< relative difference of the rates of its two halves
  Nanoseconds length = 0; ///< duration; zero if it has too few messages to tell
};

/// Returns the rate of a stream of equal messages from `skip` after the first arrival on; if fewer
/// than four messages arrive after that, the rate of the last few, with an infinite error; of fewer
/// than two messages 0.
/// @param arrivals ascending
Steady steady_rate(std::span<const Nanoseconds> arrivals, Size message, Nanoseconds skip);

/// Arrivals of one flow, on a clock common to all flows.
struct FlowArrivals {
  std::vector<Nanoseconds> arrivals;
  Size message = 0; ///< bytes from one arrival to the next
};

/// The rates of flows while all of them flowed.
struct Crowded {
  Rate together;          ///< zero if they never all ran at once, or isn't known
  std::vector<Rate> each; ///< by flow, less accurate: slow flows have few messages
  double growth = 1;      ///< the rate of all in the second half of the time, over the first half's
};

/// Returns the rates of flows while all of them flow: from `skip` after the latest first arrival of
/// a flow until the earliest end of one (its last message but one). The beginning mustn't depend on
/// the flows' progress: bytes that TCP holds back behind a lost segment arrive at once, as many
/// after the beginning as are missing at the end.
Crowded crowd_rates(std::span<const FlowArrivals> flows, Nanoseconds skip);

} // namespace thalweg::probe
