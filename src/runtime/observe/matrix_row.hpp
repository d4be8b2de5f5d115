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

/// The messages from this process to one rank.
struct MessagesEntry {
  static constexpr EntryKind its_kind = EntryKind::messages;
  EntryHead head;
  std::int32_t to = 0; ///< rank in COMM_WORLD; its size: a process outside
  std::int32_t reserved = 0;
  std::array<Tally<std::uint64_t>, size_classes> messages, bytes;
};
static_assert(sizeof(MessagesEntry) == 16 + 16 * size_classes);

/// The messages that the program of this process has sent point to point: its row of the
/// communication matrix. Thread-safe; a message costs a few nanoseconds, the first one to a rank
/// some microseconds.
class MatrixRow {
public:
  /// @param file open, and there as long as this
  MatrixRow(RecordFile& file, int world_size);

  /// Counts a message. @param to rank in COMM_WORLD, or its size
  void count(int to, std::uint64_t bytes) {
    MessagesEntry* entry = _entries[static_cast<std::size_t>(to)].load(std::memory_order_acquire);
    if (entry == nullptr) entry = &add(to);
    const std::size_t its = size_class(bytes);
    entry->messages[its].add(1);
    entry->bytes[its].add(bytes);
  }

private:
  MessagesEntry& add(int to);

  RecordFile& _file;
  std::unique_ptr<std::atomic<MessagesEntry*>[]> _entries; ///< by rank
  std::mutex _mutex;                                       ///< of additions
  MessagesEntry _lost;                                     ///< for what there is no room
};

} // namespace thalweg::runtime::observe
