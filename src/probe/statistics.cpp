#include "probe/statistics.hpp"

#include "forecast/series.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace thalweg::probe {
namespace {

constexpr double low = 0.02;        // the quantile taken
constexpr double student_3 = 3.182; // 97.5 % point of Student's t with 3 degrees of freedom
constexpr std::size_t batches = 4;

/// Returns the smallest k with P(X <= k) >= 0.975 for X ~ Binomial(n, low): with that confidence at
/// most k samples lie below the quantile.
std::size_t upper_rank(std::size_t n) {
  double probability = std::pow(1 - low, static_cast<double>(n));
  double sum = probability;
  std::size_t k = 0;
  while (sum < 0.975 && k < n) {
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1) * low / (1 - low);
    sum += probability;
    ++k;
  }
  return k;
}

/// Converts to seconds, at least one nanosecond, the clock's resolution.
double seconds(Nanoseconds time) {
  return static_cast<double>(std::max<Nanoseconds>(time, 1)) * 1e-9;
}

/// The bytes that had arrived by a time.
struct Progress {
  Nanoseconds time;
  double bytes;
};

/// Returns the slope of the least-squares line: unlike the quotient of the ends it hardly depends
/// on how messages fall into frames. Needs at least two points.
double bytes_per_second(std::span<const Progress> points) {
  const auto start = points.front().time;
  const auto count = static_cast<double>(points.size());
  const auto since_start = [&](const Progress& point) {
    return static_cast<double>(point.time - start) * 1e-9;
  };
  double mean_time = 0, mean_bytes = 0, covariance = 0, variance = 0;
  for (const auto& point : points) {
    mean_time += since_start(point) / count;
    mean_bytes += point.bytes / count;
  }
  for (const auto& point : points) {
    const double deviation = since_start(point) - mean_time;
    covariance += deviation * (point.bytes - mean_bytes);
    variance += deviation * deviation;
  }
  const double spread = points.back().bytes - points.front().bytes;
  return variance > 0 ? covariance / variance : spread / seconds(0);
}

/// Returns the bytes of a flow that had arrived by a time between its first and its last arrival,
/// as if each message arrived evenly: slow flows have few messages.
double bytes_at(const FlowArrivals& flow, Nanoseconds time) {
  const auto next = std::upper_bound(flow.arrivals.begin() + 1, flow.arrivals.end() - 1, time);
  const auto before = *(next - 1);
  const double part = static_cast<double>(time - before) /
                      static_cast<double>(std::max<Nanoseconds>(*next - before, 1));
  return static_cast<double>(flow.message) *
         (static_cast<double>(next - flow.arrivals.begin()) + part);
}

} // namespace

void LowQuantile::add(Nanoseconds sample) {
  _sorted.insert(std::upper_bound(_sorted.begin(), _sorted.end(), sample), sample);
}

Estimate LowQuantile::estimate() const {
  if (_sorted.empty()) return {0, std::numeric_limits<double>::infinity()};
  const auto n = _sorted.size();
  const auto at = static_cast<std::size_t>(low * static_cast<double>(n - 1));
  const auto upper = std::min(upper_rank(n), n - 1);
  const auto value = static_cast<double>(_sorted[at]);
  const auto width = static_cast<double>(_sorted[upper] - _sorted.front());
  return {value, n < 2 ? std::numeric_limits<double>::infinity() : width / 2 / value};
}

bool LowQuantile::tight(std::size_t minimum, double tolerance) const {
  return count() >= minimum && estimate().error <= tolerance;
}

double median(std::vector<double> samples) {
  assert(!samples.empty());
  return forecast::median(std::move(samples));
}

Steady steady_rate(std::span<const Nanoseconds> arrivals, Size message, Nanoseconds skip) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  if (arrivals.size() < 3) { // It was stopped almost at once, as on a machine that is busy.
    const bool is_known = arrivals.size() == 2 && arrivals.back() > arrivals.front();
    const double guess =
        is_known ? static_cast<double>(message) / seconds(arrivals.back() - arrivals.front()) : 0;
    return {{guess, unknown}, 0, 0};
  }
  // Without the last message: the network carries frames, and only the last message ends with its
  // frame.
  const auto last = arrivals.size() - 2;
  const auto ready = std::lower_bound(arrivals.begin(), arrivals.end(), arrivals.front() + skip);
  const auto after_skip = static_cast<std::size_t>(ready - arrivals.begin());
  const bool enough = after_skip + batches <= last;
  const auto first = enough ? after_skip : last - std::min(last, batches);
  const auto intervals = last - first;
  const auto rate_of = [&](std::size_t from, std::size_t to) {
    return static_cast<double>(message) * static_cast<double>(to - from) /
           seconds(arrivals[to] - arrivals[from]);
  };
  std::vector<Progress> points;
  for (auto i = first; i <= last; ++i)
    points.push_back({arrivals[i], static_cast<double>(message) * static_cast<double>(i)});
  const double rate = bytes_per_second(points);
  if (!enough) return {{rate, unknown}, 0, 0};

  double square = 0;
  for (std::size_t b = 0; b < batches; ++b) {
    const auto from = first + b * intervals / batches, to = first + (b + 1) * intervals / batches;
    const double deviation = rate_of(from, to) / rate - 1;
    square += deviation * deviation;
  }
  const double error = student_3 * std::sqrt(square / (batches - 1) / batches);
  const auto middle = (first + last) / 2;
  const double drift = std::abs(rate_of(first, middle) - rate_of(middle, last)) / rate;
  return {{rate, error}, drift, arrivals[last] - arrivals[first]};
}

Crowded crowd_rates(std::span<const FlowArrivals> flows, Nanoseconds skip) {
  Crowded result{Rate(0), std::vector<Rate>(flows.size(), Rate(0))};
  const bool all_came =
      std::ranges::all_of(flows, [](const auto& flow) { return flow.arrivals.size() >= 2; });
  if (flows.empty() || !all_came) return result;
  Nanoseconds from = std::numeric_limits<Nanoseconds>::min();
  Nanoseconds to = std::numeric_limits<Nanoseconds>::max();
  for (const auto& flow : flows) {
    from = std::max(from, flow.arrivals.front() + skip);
    to = std::min(to, flow.arrivals[flow.arrivals.size() - 2]); // as in steady_rate
  }
  std::vector<std::pair<Nanoseconds, double>> messages;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const auto size = static_cast<double>(flows[f].message);
    for (auto time : flows[f].arrivals)
      if (from <= time && time <= to) messages.emplace_back(time, size);
    if (from < to)
      result.each[f] =
          Rate((bytes_at(flows[f], to) - bytes_at(flows[f], from)) / seconds(to - from));
  }
  if (messages.size() < 3) return {Rate(0), std::vector<Rate>(flows.size(), Rate(0))};
  const Nanoseconds middle = from + (to - from) / 2;
  const auto all_by = [&](Nanoseconds time) {
    double bytes = 0;
    for (const FlowArrivals& flow : flows)
      bytes += bytes_at(flow, time);
    return bytes;
  };
  if (const double first = all_by(middle) - all_by(from); first > 0)
    result.growth = (all_by(to) - all_by(middle)) / first;
  std::sort(messages.begin(), messages.end());
  std::vector<Progress> points;
  double bytes = 0;
  for (auto [time, size] : messages)
    points.push_back({time, bytes += size});
  result.together = Rate(bytes_per_second(points));
  return result;
}

} // namespace thalweg::probe
