#pragma once

#include "runtime/observe/clock.hpp"
#include "runtime/observe/counted.hpp"
#include "runtime/observe/reason.hpp"
#include "runtime/observe/tally.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace thalweg::runtime::observe {

/// Counts how often, and with how much data, each collective was planned or native. Thread-safe.
class Counters {
public:
  /// A call, as rank 0 sees it.
  struct Call {
    std::int64_t bytes = 0;
    Ticks time = 0;                           ///< from its entry to its exit, waiting included
    std::int64_t native_ns = 0, bound_ns = 0; ///< predicted; 0: not known
  };
  /// @param reason why it was native; none if it was planned
  void count(Counted what, std::optional<Reason> reason, const Call& call);
  [[nodiscard]] std::uint64_t calls(Counted what, std::optional<Reason> reason) const;
  /// Returns {"bcast": {"planned": {"calls": 2, "bytes": 16, "seconds": 0.1}, "native":
  /// {"single-host": {...}}}, ...}, without collectives that were never called. Planned calls whose
  /// native time is known have "compared": {"seconds": ..., "native": ..., "limit": ...}, their own
  /// sums; the limit is null if that of one isn't known.
  [[nodiscard]] std::string to_json(const Calibration& clock) const;

private:
  struct Count {
    Tally<std::uint64_t> calls, bytes;
    Tally<Ticks> time;
    Tally<Ticks> compared;                   ///< of calls with a prediction
    Tally<std::int64_t> native_ns, bound_ns; ///< of the same calls
    Tally<std::uint64_t> unbounded;          ///< of the same: calls without bound_ns
  };
  static std::string entry(const Count& count, const Calibration& clock);
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
  std::array<Counts, Counted::count> _counts; ///< by Counted::number()
};

} // namespace thalweg::runtime::observe
