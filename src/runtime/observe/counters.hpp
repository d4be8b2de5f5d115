#pragma once

#include "collective/collective.hpp"
#include "runtime/observe/reason.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace thalweg::runtime::observe {

/// How often, and with how much data, each collective was planned or native. Thread-safe.
class Counters {
public:
  void count(collective::Kind kind, Reason reason, std::int64_t bytes);
  [[nodiscard]] std::uint64_t calls(collective::Kind kind, Reason reason) const;
  /// {"bcast": {"planned": {"calls": 2, "bytes": 16}, "native": {"single-host": {...}}}, ...}:
  /// collectives that were never called are left out.
  [[nodiscard]] std::string to_json() const;

private:
  static constexpr std::size_t kinds = 11;
  struct Count {
    std::atomic<std::uint64_t> calls{0}, bytes{0};
  };
  std::array<std::array<Count, reasons>, kinds> _counts;
};

} // namespace thalweg::runtime::observe
