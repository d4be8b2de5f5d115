#pragma once

#include "runtime/observe/clock.hpp"
#include "runtime/observe/mapped_file.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

/// What a process adds to the run record. docs/record.md describes the file;
/// python/thalweg/record.py reads it.
namespace thalweg::runtime::observe {

inline constexpr char record_magic[8] = {'T', 'H', 'W', 'G', 'R', 'E', 'C', '1'};
inline constexpr std::uint32_t record_version = 1;

enum class EntryKind : std::uint32_t {
  none = 0,
  messages = 1,
  calls = 2,
  link = 3,
  communicator = 4,
  one_sided = 5,
  neighbor_blocks = 6
};

/// The beginning of each entry.
struct EntryHead {
  EntryKind kind = EntryKind::none;
  std::uint32_t size = 0; ///< bytes, this head included
};

/// A process among those of a run.
struct Identity {
  std::uint64_t run = 0; ///< a number that only the files of this run have
  std::int32_t world_rank = 0, world_size = 1;
};

struct RecordHeader {
  char magic[8]{};
  std::uint32_t version = record_version, header_size = 0;
  std::int32_t world_rank = 0, world_size = 0;
  std::uint64_t run = 0;
  std::uint64_t size = 0; ///< bytes in use, the header included
  TickScale scale;
  ClockFit clock;
  std::uint32_t finished = 0; ///< 1: the program called MPI_Finalize
  std::int32_t host = 0;      ///< number of the rank's host in run.json
  std::uint64_t reserved = 0;
};
static_assert(sizeof(RecordHeader) == 128);

/// A growing file of entries. Thread-safe.
class RecordFile {
public:
  /// Begins the file. Call it once. Returns nothing, or why it can't be; then there is no entry.
  [[nodiscard]] std::string open(const std::string& path, const Identity& identity);
  [[nodiscard]] bool is_open() const { return _file.is_open(); }
  /// Returns a new entry, zero but for its head; null if there is no room.
  template <class Entry>
  Entry* add() {
    static_assert(sizeof(Entry) % 8 == 0);
    return reinterpret_cast<Entry*>(add(Entry::its_kind, sizeof(Entry)));
  }
  /// Requires is_open().
  [[nodiscard]] RecordHeader& header() const {
    return *reinterpret_cast<RecordHeader*>(_file.data());
  }
  /// Returns the header and all entries.
  [[nodiscard]] std::span<const std::byte> content() const;
  [[nodiscard]] std::string problem() const { return _file.problem(); }
  void remove() { _file.remove(); }

private:
  std::byte* add(EntryKind kind, std::uint32_t size);

  MappedFile _file;
  std::mutex _mutex;
};

} // namespace thalweg::runtime::observe
