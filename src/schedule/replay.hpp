#pragma once

#include "schedule/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::schedule {

/// The content of a place: a chunk, and what has been combined into it.
struct Content {
  ChunkId chunk = -1;             ///< -1: nothing
  Rank lowest = 0;                ///< lowest contributing rank
  std::uint64_t contributors = 0; ///< a set of up to 64 ranks, or the sum of their weights
  std::uint64_t expression = 0;   ///< hash of the contributions in the order they were combined
  bool operator==(const Content&) const = default;
};

/// A chunk's slot in a register of a rank.
struct Place {
  Rank rank = 0;
  Reg reg = 0;
  ChunkId slot = 0;
  bool operator==(const Place&) const = default;
};

/// What a replay knows of a place.
struct State {
  Content content;
  Rank copied_from = collective::no_rank; ///< if that copy is still here
  Step written = -1;
  bool combined = false;            ///< by the last write
  const Transfer* unread = nullptr; ///< the last write, if nothing has read it
};

/// The states of the places touched so far, by open addressing: an alltoall of a thousand ranks
/// touches millions of places, of the thousand million that it has.
class Places {
public:
  struct Entry {
    Place place;
    State state;
  };
  /// Returns the state of a place, valid until the next call, and whether it is new.
  std::pair<State&, bool> at(const Place& place);
  /// Returns all places, in the order in which they were touched first.
  [[nodiscard]] std::span<const Entry> all() const { return _entries; }

private:
  using Index = std::uint32_t;
  static constexpr Index none = std::numeric_limits<Index>::max();

  /// Returns where the index of the place is, or where it belongs.
  Index& find(const Place& place);
  void grow();

  std::vector<Entry> _entries;
  std::vector<Index> _index; ///< of entries, by hash; a power of two, at most a quarter used
};

/// The state of all ranks while the transfers of one segment are executed (verify.hpp has the
/// rules).
class Replay {
public:
  /// For a barrier, follows only the contributions of the 64 ranks from `first_contributor` on.
  Replay(const Collective& collective, const Schedule& schedule, Rank first_contributor = 0);
  /// Executes all steps and checks the end.
  /// @throws std::invalid_argument as verify()
  void run();

private:
  struct Write {
    const Transfer* transfer;
    Content incoming;
  };
  State& at(Rank rank, Reg reg, ChunkId chunk);
  [[nodiscard]] ChunkId slot(Rank rank, Reg reg, ChunkId chunk) const;
  [[nodiscard]] Content own(Rank rank, ChunkId chunk) const;
  [[nodiscard]] std::uint64_t contribution(Rank rank) const;
  [[nodiscard]] bool exact() const { return _barrier || _collective.ranks <= 64; }
  void read(const Transfer& transfer);
  void write(const Write& write);
  void copy(const Write& write, State& state) const;
  void combine(const Write& write, State& state) const;
  void check_result();
  void check_result(Rank rank, std::uint64_t expected);
  /// Checks that all ranks combined a chunk in the same order.
  void check_order(Rank rank, const Content& content);
  void check_unread() const;
  void check_contributors(Rank rank, const Content& content, std::uint64_t expected) const;

  const Collective& _collective;
  const Schedule& _schedule;
  Rank _first_contributor;
  bool _barrier;
  ChunkId _parts;
  Places _places;
  std::vector<Write> _writes;              ///< of the current step
  std::vector<std::uint64_t> _expressions; ///< at the end, by chunk, of the first rank
};

/// Returns how errors name a transfer: "step 3, 1 -> 2: ".
[[nodiscard]] std::string name(const Transfer& transfer);

} // namespace thalweg::schedule
