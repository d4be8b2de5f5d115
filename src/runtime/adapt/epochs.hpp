#pragma once

#include "runtime/adapt/races.hpp"
#include "runtime/mpi/native.hpp"
#include "runtime/mpi/open_collective.hpp"
#include "runtime/observe/clock.hpp"
#include "runtime/observe/clock_bounds.hpp"

namespace thalweg::runtime {

/// How the ranks of a communicator agree at its epochs: by an OpenCollective, a reduction of 272
/// bytes, which is waited for after Races::patience() calls: more than 8 where waiting takes too
/// much.
class Epochs {
public:
  /// @param rank of this process in the communicator
  /// @param clock this host's, if it is compared with rank 0's; it must outlive this
  Epochs(collective::Rank rank, std::vector<Won> won, const observe::ComparedClock* clock)
      : races(std::move(won), clock != nullptr), _rank(rank), _compared(clock) {}
  Epochs(const Epochs&) = delete;
  Epochs& operator=(const Epochs&) = delete;

  /// Called before each blocking call: begins an agreement, or ends one that began long ago.
  /// Throws MpiError. Returns whether the ranks' states were found to differ.
  bool before_call(MPI_Comm comm);
  /// Whether an agreement has begun and not ended.
  [[nodiscard]] bool is_open() const { return _open.is_open(); }
  /// Whether one has begun so long ago that it is waited for after this call.
  /// @param ago Arrivals::calls_ago() of it
  [[nodiscard]] bool is_due(std::uint64_t ago) const {
    return is_open() && ago < races.calls() &&
           _open.is_late(races.calls() - ago, races.patience(true));
  }
  /// Ends the open agreement. Throws and returns the same.
  bool finish();
  /// Waits for what is open. No call may follow.
  void end() { _open.end(); }

  Races races;
  /// What is predicted of each race's calls, by this rank: the latest.
  RaceFacts& predictions(const Race& race) {
    return _predictions[static_cast<std::size_t>(&race - races.all().data())];
  }

private:
  void begin(MPI_Comm comm);

  collective::Rank _rank;
  const observe::ComparedClock* _compared;
  observe::Calibration _clock;
  std::array<RaceFacts, Races::most_races> _predictions{};
  OpenCollective _open;
  std::int64_t _began_ns = observe::monotonic_ns(); ///< the last agreement
  std::int64_t _cost_ns = 0;                        ///< of the last or the open one
  EpochRecord _own{}, _all{};
};

} // namespace thalweg::runtime
