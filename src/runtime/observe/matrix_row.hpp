#pragma once

#include "runtime/observe/record_file.hpp"
#include "runtime/observe/tally.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace thalweg::runtime::observe {

inline constexpr std::size_t size_classes = 8;

/// Returns the class of a message's size: 0 bytes, up to 64, 2^10, 2^14, 2^18, 2^22, 2^26 bytes,
/// more.
constexpr std::size_t size_class(std::uint64_t bytes) {
  constexpr unsigned first = 6, step = 4; // powers of two
  if (bytes == 0) return 0;
  const auto power = static_cast<unsigned>(std::bit_width(bytes - 1));
  if (power <= first) return 1;
  const std::size_t above = (power - first + step - 1) / step;
  return above + 1 < size_classes ? above + 1 : size_classes - 1;
}

/// What this process sends to one rank.
template <EntryKind kind>
struct SentEntry {
  static constexpr EntryKind its_kind = kind;
  EntryHead head;
  std::int32_t to = 0; ///< rank in COMM_WORLD; its size: a process outside
  std::int32_t reserved = 0;
  std::array<Tally<std::uint64_t>, size_classes> messages, bytes;
};
using MessagesEntry = SentEntry<EntryKind::messages>;
using NeighborBlocksEntry = SentEntry<EntryKind::neighbor_blocks>;
static_assert(sizeof(MessagesEntry) == 16 + 16 * size_classes);

/// What this process does with the memory of one rank.
struct OneSidedEntry {
  static constexpr EntryKind its_kind = EntryKind::one_sided;
  EntryHead head;
  std::int32_t to = 0; ///< rank in COMM_WORLD; its size: a process outside
  std::int32_t reserved = 0;
  std::array<Tally<std::uint64_t>, size_classes> writes, written, reads, read;
};
static_assert(sizeof(OneSidedEntry) == 16 + 32 * size_classes);

/// Entries of this process about each rank. Thread-safe; an entry that is there costs a few
/// nanoseconds, the first one about a rank some microseconds.
template <class Entry>
class Row {
public:
  /// @param file open, and there as long as this
  Row(RecordFile& file, int world_size)
      : _file(file), _entries(std::make_unique<std::atomic<Entry*>[]>(
                         static_cast<std::size_t>(world_size) + 1)) {}

  /// @param to rank in COMM_WORLD, or its size
  Entry& about(int to) {
    Entry* const entry = _entries[static_cast<std::size_t>(to)].load(std::memory_order_acquire);
    return entry != nullptr ? *entry : add(to);
  }

protected:
  using Tallies = std::array<Tally<std::uint64_t>, size_classes>;
  /// Counts something of so many bytes in the class of its size.
  static void count_in(Tallies& counts, Tallies& sums, std::uint64_t bytes) {
    const std::size_t its = size_class(bytes);
    counts[its].add(1);
    sums[its].add(bytes);
  }

private:
  Entry& add(int to) {
    const std::lock_guard lock(_mutex);
    auto& place = _entries[static_cast<std::size_t>(to)];
    if (auto* const found = place.load()) return *found;
    // In a file of zeros the counts begin with 0.
    auto* added = _file.add<Entry>();
    if (added == nullptr)
      added = &_lost;
    else
      added->to = to;
    place.store(added, std::memory_order_release);
    return *added;
  }

  RecordFile& _file;
  std::unique_ptr<std::atomic<Entry*>[]> _entries; ///< by rank
  std::mutex _mutex;                               ///< of additions
  Entry _lost;                                     ///< for what there is no room
};

/// What the program of this process has sent: a row of a matrix.
template <class Entry>
class SentRow : Row<Entry> {
public:
  using Row<Entry>::Row;

  /// Counts a message. @param to rank in COMM_WORLD, or its size
  void count(int to, std::uint64_t bytes) {
    Entry& entry = this->about(to);
    this->count_in(entry.messages, entry.bytes, bytes);
  }
};
/// The messages point to point: the row of the communication matrix.
using MatrixRow = SentRow<MessagesEntry>;
/// The blocks of collectives of neighbourhoods.
using NeighborBlocksRow = SentRow<NeighborBlocksEntry>;

/// What the program of this process has done with other processes' memory: one-sided traffic.
class OneSidedRow : Row<OneSidedEntry> {
public:
  using Row::Row;

  /// Counts data that is put, or combined there.
  void count_write(int to, std::uint64_t bytes) {
    OneSidedEntry& entry = about(to);
    count_in(entry.writes, entry.written, bytes);
  }
  /// Counts data that is got.
  void count_read(int from, std::uint64_t bytes) {
    OneSidedEntry& entry = about(from);
    count_in(entry.reads, entry.read, bytes);
  }
};

} // namespace thalweg::runtime::observe
