#pragma once

#include "runtime/observe/tally.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace thalweg::runtime::observe {

inline constexpr char matrix_magic[8] = {'T', 'H', 'W', 'G', 'M', 'T', 'X', '1'};
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

/// The file's header; docs/record.md describes the file.
struct MatrixHeader {
  char magic[8]{};
  std::uint32_t version = 1, entry_size = 0;
  std::int32_t world_rank = 0, world_size = 0;
  std::array<std::byte, 40> reserved{};
};
static_assert(sizeof(MatrixHeader) == 64);

/// The messages from this process to one rank.
struct MatrixEntry {
  std::int32_t used = 0; ///< 1: the other fields are valid
  std::int32_t to = 0;   ///< rank in COMM_WORLD; its size: a process outside
  std::array<Tally<std::uint64_t>, size_classes> messages, bytes;
};
static_assert(sizeof(MatrixEntry) == 8 + 2 * 8 * size_classes);

/// The messages that the program of this process has sent point to point: its row of the
/// communication matrix. It lives in a mapped file, so that it can be read when the process has
/// been killed. Thread-safe; a message costs a few nanoseconds, the first one to a rank some
/// microseconds.
class MatrixRow {
public:
  MatrixRow() = default;
  ~MatrixRow();
  MatrixRow(const MatrixRow&) = delete;
  MatrixRow& operator=(const MatrixRow&) = delete;

  /// Begins to record in the file `path`. Call it once. Returns nothing, or why it can't be; then
  /// nothing is recorded.
  [[nodiscard]] std::string open(const std::string& path, int world_rank, int world_size);
  [[nodiscard]] bool is_open() const { return _slots != nullptr; }
  /// Counts a message. Requires is_open().
  /// @param to rank in COMM_WORLD, or its size
  void count(int to, std::uint64_t bytes) {
    std::int32_t slot = _slots[static_cast<std::size_t>(to)].load(std::memory_order_acquire);
    if (slot == none) slot = add(to);
    if (slot == lost) return;
    MatrixEntry& entry = _entries[slot];
    const std::size_t its = size_class(bytes);
    entry.messages[its].add(1);
    entry.bytes[its].add(bytes);
  }
  /// Returns why messages to some ranks were not recorded; empty if all were.
  [[nodiscard]] std::string problem() const;

private:
  static constexpr std::int32_t none = -1, lost = -2;
  std::int32_t add(int to);
  bool grow();

  std::string _path;
  int _file = -1;
  std::byte* _memory = nullptr; ///< mapped: header and all entries that there can be
  std::size_t _mapped = 0;      ///< bytes
  MatrixEntry* _entries = nullptr;
  std::unique_ptr<std::atomic<std::int32_t>[]> _slots; ///< by rank
  std::mutex _mutex;                                   ///< of what follows
  std::int32_t _used = 0, _room = 0; ///< entries; those that the file has room for
  int _error = 0;                    ///< errno's value when the file couldn't grow
};

} // namespace thalweg::runtime::observe
