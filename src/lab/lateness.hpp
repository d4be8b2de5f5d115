#pragma once

#include "lab/fabric.hpp"

#include <array>
#include <cstdint>

namespace thalweg::lab {

/// A histogram of how late frames left, whose bucket edges grow by 2^(1/4). Two readings can be
/// subtracted, unlike two maxima.
class Lateness {
public:
  static constexpr std::size_t buckets = 80;
  /// Returns the upper edge of a bucket in nanoseconds: 1 us * 2^(bucket/4); the last bucket has
  /// none.
  static double upper_edge(std::size_t bucket);

  void add(Instant late);
  [[nodiscard]] const std::array<std::uint64_t, buckets>& counts() const { return _counts; }

private:
  std::array<std::uint64_t, buckets> _counts{};
};

} // namespace thalweg::lab
