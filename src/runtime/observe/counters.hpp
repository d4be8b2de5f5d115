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
  /// Executes a native call by `body`, which returns its code, and counts it. Only one thread may
  /// call at a time. From the 1,000th call of a collective for a reason on short ones aren't all
  /// timed: after a timed call of less than some microseconds 16 aren't, for which the time of the
  /// one after them stands.
  template <class Body>
  int count_native(Counted what, Reason reason, std::int64_t bytes, const Body& body) {
    Count& count = _counts[what.number()].of(reason);
    count.calls.add(1);
    count.bytes.add(static_cast<std::uint64_t>(bytes));
    if (count.untimed > 0) {
      --count.untimed;
      return body();
    }
    const Ticks enter = now();
    const int code = body();
    count.add_timed(now() - enter);
    return code;
  }
  [[nodiscard]] std::uint64_t calls(Counted what, std::optional<Reason> reason) const;
  /// Returns {"bcast": {"planned": {"calls": 2, "bytes": 16, "seconds": 0.1}, "native":
  /// {"single-host": {...}}}, ...}, without collectives that were never called. Planned calls whose
  /// native time is known have "compared": {"seconds": ..., "native": ..., "limit": ...}, their own
  /// sums; the limit is null if that of one isn't known.
  [[nodiscard]] std::string to_json(const Calibration& clock) const;

private:
  struct alignas(64) Count { // a line of the cache
    Tally<std::uint64_t> calls, bytes;
    Tally<Ticks> time;
    Tally<Ticks> compared;                   ///< of calls with a prediction
    Tally<std::int64_t> native_ns, bound_ns; ///< of the same calls
    Tally<std::uint32_t> unbounded;          ///< of the same: calls without bound_ns
    std::uint16_t untimed = 0;               ///< calls to come that count_native() doesn't time
    std::uint16_t weight = 1;                ///< calls that the next timed one stands for

    void add_timed(Ticks ticks);
  };
  static_assert(sizeof(Count) == 64);
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
