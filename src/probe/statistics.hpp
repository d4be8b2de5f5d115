#pragma once

#include "units/units.hpp"

#include <cstdint>
#include <span>
#include <vector>

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

/// Estimates a latency from samples that noise can only lengthen: their lowest fiftieth. The
/// interval comes from order statistics (binomial), so it assumes no distribution.
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

/// The steady part of a stream.
struct Steady {
  Estimate rate;          ///< bytes/s; the error by batch means, which frames make wider than it is
  double drift = 0;       ///< by how much of it the rates of its two halves differ
  Nanoseconds length = 0; ///< how long it lasts; zero if it has too few messages to tell
};

/// The rate of a stream of equal messages from `skip` after the first arrival on; if fewer than
/// four messages arrive after that, of the last few, with an infinite error.
/// @param arrivals ascending, at least 3
Steady steady_rate(std::span<const Nanoseconds> arrivals, Size message, Nanoseconds skip);

/// Arrivals of one flow, on a clock common to all flows.
struct Flow {
  std::vector<Nanoseconds> arrivals;
  Size message = 0;
};

/// The rate of all flows together while all of them flow: from `skip` after the latest first
/// arrival of a flow until the earliest end of one (its last message but one). Zero if there is no
/// such time. Where the time begins mustn't depend on how flows fare: what TCP holds back behind a
/// lost segment arrives in one go, as much of it after the beginning as is missing at the end.
Rate aggregate_rate(std::span<const Flow> flows, Nanoseconds skip);

} // namespace thalweg::probe
