#pragma once

#include "runtime/observe/counters.hpp"
#include "runtime/observe/record_file.hpp"
#include "units/hash.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace thalweg::runtime::observe {

/// What the elements of a call's data are, as far as it matters for how they are moved.
enum class DatatypeClass : std::uint8_t {
  unknown, ///< or there is no data
  predefined,
  contiguous, ///< derived, without gaps
  gaps,       ///< derived, with gaps or in another order
  several,    ///< a type per block
};

/// More properties of calls, as bits. Calls are compared with what is predicted of them, so those
/// of which it isn't known are counted apart.
enum CallFlags : std::uint8_t {
  is_nonblocking = 1, ///< or persistent
  native_is_predicted = 2,
  bound_is_known = 4,
};

/// The properties by which calls are counted together.
struct CallKey {
  std::uint64_t communicator = 0; ///< CommunicatorEntry::members; 0: not known
  std::int32_t ranks = 0;         ///< of the communicator; 0: not known
  std::int32_t root = 0;
  std::uint16_t algorithm = 0; ///< as CallEvent's
  std::uint8_t collective = 0; ///< Counted::number()
  std::uint8_t size_class = 0; ///< bits of the size: 0 for 0, n for 2^(n-1) <= size < 2^n
  DatatypeClass datatype{};
  std::uint8_t planned = 0, reason = 0; ///< as CallEvent's
  std::uint8_t flags = 0;               ///< CallFlags
  bool operator==(const CallKey&) const = default;
};
static_assert(sizeof(CallKey) == 24);

/// Calls of one kind on this rank.
struct CallsEntry {
  static constexpr EntryKind its_kind = EntryKind::calls;
  EntryHead head;
  CallKey key;
  std::uint64_t calls = 0, bytes = 0;
  Ticks time = 0, least = 0, most = 0;      ///< from entry to exit, waiting included: sum, extremes
  std::int64_t native_ns = 0, bound_ns = 0; ///< predicted, as Counters::Call's: sums
};
static_assert(sizeof(CallsEntry) == 88);

/// A communicator that this process has called collectives on.
struct CommunicatorEntry {
  static constexpr EntryKind its_kind = EntryKind::communicator;
  EntryHead head;
  std::uint64_t members = 0; ///< members_hash() of its ranks in COMM_WORLD
  std::int32_t rank = 0, ranks = 0;
  std::int32_t leader = 0; ///< rank in COMM_WORLD of its rank 0
  std::int32_t reserved = 0;
};
static_assert(sizeof(CommunicatorEntry) == 32);

/// Returns a number other than 0 that communicators with the same members have in common.
template <class Ranks>
std::uint64_t members_hash(const Ranks& world_ranks) {
  Fnv1a hash;
  for (const auto rank : world_ranks)
    hash.add_number(static_cast<std::uint64_t>(rank));
  return hash.value() != 0 ? hash.value() : 1;
}

/// Counts the collective calls of this process by their keys. Thread-safe; costs some nanoseconds.
class CallTable {
public:
  /// @param file open, and there as long as this
  explicit CallTable(RecordFile& file) : _file(file) {}

  void count(const CallKey& key, const Counters::Call& call);
  /// Adds a communicator, unless one with these members is known.
  void add(const CommunicatorEntry& communicator);

private:
  struct Hash {
    std::size_t operator()(const CallKey& key) const;
  };
  CallsEntry& find(const CallKey& key);

  RecordFile& _file;
  std::mutex _mutex;                     ///< of what follows, and of the entries
  std::array<CallsEntry*, 32> _latest{}; ///< found by some bits of their hashes
  std::unordered_map<CallKey, CallsEntry*, Hash> _entries;
  std::unordered_map<std::uint64_t, CommunicatorEntry*> _communicators;
  CallsEntry _lost; ///< for what there is no room
};

} // namespace thalweg::runtime::observe
