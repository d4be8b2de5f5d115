#include "lab/lateness.hpp"

#include <algorithm>
#include <cmath>

namespace thalweg::lab {
namespace {
constexpr double first_edge = 1000, steps_per_octave = 4;
}

double Lateness::upper_edge(std::size_t bucket) {
  return first_edge * std::exp2(static_cast<double>(bucket) / steps_per_octave);
}

void Lateness::add(Instant late) {
  const auto ratio = std::max(1.0, static_cast<double>(late) / first_edge);
  const auto bucket = static_cast<std::size_t>(std::ceil(std::log2(ratio) * steps_per_octave));
  ++_counts[std::min(bucket, buckets - 1)];
}

} // namespace thalweg::lab
