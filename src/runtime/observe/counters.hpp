#pragma once

#include "collective/collective.hpp"
#include "runtime/observe/reason.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace thalweg::runtime::observe {

/// Counts how often, and with how much data, each collective was planned or native. Thread-safe.
class Counters {
public:
  /// @param reason why it was native; none if it was planned
  void count(collective::Kind kind, std::optional<Reason> reason, std::int64_t bytes);
  [[nodiscard]] std::uint64_t calls(collective::Kind kind, std::optional<Reason> reason) const;
  /// Returns {"bcast": {"planned": {"calls": 2, "bytes": 16}, "native": {"single-host": {...}}},
  /// ...}, without collectives that were never called.
  [[nodiscard]] std::string to_json() const;

private:
  struct Count {
    std::atomic<std::uint64_t> calls{0}, bytes{0};
  };
  struct Counts {
    Count planned;
    std::array<Count, reason_count> native; ///< by Reason
    const Count& of(std::optional<Reason> reason) const {
      return reason ? native[static_cast<std::size_t>(*reason)] : planned;
    }
    Count& of(std::optional<Reason> reason) {
      return reason ? native[static_cast<std::size_t>(*reason)] : planned;
    }
  };
  collective::ByKind<Counts> _counts;
};

} // namespace thalweg::runtime::observe
