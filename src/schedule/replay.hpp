#pragma once

#include "schedule/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
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
  struct State {
    Content content;
    Rank copied_from = collective::no_rank; ///< if that copy is still here
    Step written = -1;
    bool combined = false;            ///< by the last write
    const Transfer* unread = nullptr; ///< the last write, if nothing has read it
  };
  struct Write {
    const Transfer* transfer;
    Content incoming;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const;
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
  void check_unread() const;
  void check_contributors(Rank rank, const Content& content, std::uint64_t expected) const;

  const Collective& _collective;
  const Schedule& _schedule;
  Rank _first_contributor;
  bool _barrier;
  ChunkId _parts;
  std::unordered_map<Place, State, PlaceHash> _places; ///< the places touched so far
  std::vector<Write> _writes;                          ///< of the current step
};

/// "step 3, 1 -> 2: "
[[nodiscard]] std::string name(const Transfer& transfer);
/// The chunk ids that the ranges stand for, in their order.
template <class Visit>
void for_each_chunk(const Transfer& transfer, Visit visit) {
  for (const Range& range : transfer.what)
    for (ChunkId i = 0; i < range.count; ++i)
      visit(range.first + i * range.stride);
}

} // namespace thalweg::schedule
