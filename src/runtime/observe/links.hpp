#pragma once

#include "runtime/observe/record_file.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace thalweg::runtime::observe {

/// A sum of times, exact.
struct WideSum {
  std::uint64_t low = 0, high = 0;
  void add(Ticks time) {
    const auto more = static_cast<std::uint64_t>(time);
    low += more;
    if (low < more) ++high;
  }
};

/// Classes of a ratio: two per power of two, [1, 1.5) and [1.5, 2), from 1/8 on.
inline constexpr std::size_t ratio_classes = 24;

/// Returns the class of a ratio; smaller and larger ones have the first and the last. Requires that
/// it isn't negative.
inline std::size_t ratio_class(double ratio) {
  constexpr std::uint64_t first = std::bit_cast<std::uint64_t>(0.125) >> 51;
  const std::uint64_t its = std::bit_cast<std::uint64_t>(ratio) >> 51;
  if (its < first) return 0;
  return its - first < ratio_classes ? its - first : ratio_classes - 1;
}

/// The messages of planned collectives between this process and the ranks of one host.
struct LinkEntry {
  static constexpr EntryKind its_kind = EntryKind::link;
  EntryHead head;
  std::int32_t host = 0; ///< its number in run.json
  std::int32_t reserved = 0;
  std::uint64_t sends = 0, sent_bytes = 0;
  WideSum posted; ///< of sends
  std::uint64_t receives = 0, received_bytes = 0;
  WideSum done;            ///< of receives
  Ticks observed = 0;      ///< receives from posted to done, summed up
  double predicted_ns = 0; ///< of the same messages; 0: no network is known
  std::array<std::uint64_t, ratio_classes> ratios{}; ///< receives, by observed over predicted
};
static_assert(sizeof(LinkEntry) == 96 + 8 * ratio_classes);

/// A network's prediction for a lone message, in nanoseconds.
struct MessageTime {
  double base_ns = 0, ns_per_byte = 0;
  std::int64_t eager_limit = 0; ///< a larger message waits for a handshake:
  double handshake_ns = 0;
  [[nodiscard]] double of(std::int64_t bytes) const {
    return base_ns + static_cast<double>(bytes) * ns_per_byte +
           (bytes > eager_limit ? handshake_ns : 0);
  }
};

/// Compares planned transfers with what the network lets expect, by host of the other end.
/// Thread-safe; a message costs some nanoseconds besides taking the time.
class Links {
public:
  using Expect = std::function<MessageTime(int host)>; ///< for messages from a host

  /// @param file open, and there as long as this
  /// @param hosts number of the host of each rank of COMM_WORLD
  /// @param expect may be empty: no network is known
  Links(RecordFile& file, std::vector<std::int32_t> hosts, Expect expect);
  void sent(int world_rank, std::int64_t bytes, Ticks posted);
  /// Computes with fractions, which may raise inexactness.
  void received(int world_rank, std::int64_t bytes, Ticks posted, Ticks done);
  /// Sets the duration of a tick, to compare times with.
  void set_scale(const TickScale& scale) {
    const std::lock_guard lock(_mutex);
    _ns_per_tick = scale.ns_per_tick;
  }

private:
  struct Link {
    LinkEntry* entry = nullptr;          ///< null: nothing so far
    std::optional<MessageTime> expected; ///< once something was received
  };
  Link& find(int world_rank);

  RecordFile& _file;
  std::vector<std::int32_t> _hosts;
  Expect _expect;
  std::mutex _mutex;        ///< of what follows, and of the entries
  std::vector<Link> _links; ///< by host
  double _ns_per_tick = 1;
  LinkEntry _lost; ///< for what there is no room
};

} // namespace thalweg::runtime::observe
