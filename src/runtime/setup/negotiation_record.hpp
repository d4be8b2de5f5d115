#pragma once

#include <array>
#include <cstdint>

namespace thalweg::runtime {

/// What a communicator's ranks compare, by maximum, before its calls are planned.
struct NegotiationRecord {
  enum Field : std::uint8_t {
    number,  ///< for tags, where threads need them
    name,    ///< of the communicator
    lacking, ///< 1: the rank knows no table for the placement
    latest_owner,
    shortfall_ns,
    planning_ns,
    checksum, ///< of the rank's table
    checksum_complement
  };
  std::array<std::int64_t, 8> values{};

  [[nodiscard]] std::int64_t& operator[](Field field) { return values[field]; }
  [[nodiscard]] std::int64_t operator[](Field field) const { return values[field]; }
  void set_checksum(std::uint64_t sum) {
    values[checksum] = static_cast<std::int64_t>(sum);
    values[checksum_complement] = ~values[checksum];
  }
  /// Whether this is the maximum of ranks that all know the same table. Communicators whose ranks
  /// run on the same hosts may have got different ones, or one of them none, since the first rank
  /// of each plans.
  [[nodiscard]] bool all_know_the_same() const {
    // The complement of the complement's maximum is the minimum.
    return values[lacking] == 0 && values[checksum] == ~values[checksum_complement];
  }
};

} // namespace thalweg::runtime
