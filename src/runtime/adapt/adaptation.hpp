#pragma once

#include "runtime/adapt/arrivals.hpp"
#include "runtime/adapt/epochs.hpp"
#include "runtime/adapt/replanner.hpp"
#include "runtime/choose/chooser.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thalweg::runtime {

/// How a communicator's blocking calls adapt: its ranks agree at epochs, calls race, and plans may
/// follow the network. Each call goes through before_call(); once it is decided, through turn_of(),
/// if it has candidates, and note(); and once this rank has left it, through count(), if it counts,
/// and, while an agreement is open, through left() and after_call().
class Adaptation {
public:
  /// What there is to say to the user; empty: nothing.
  struct Said {
    std::string_view of_races = {};
    std::string of_plans = {};
  };
  /// A call's part in a race.
  struct Turn {
    Race* race = nullptr; ///< null: the call has none
    bool counts = false;  ///< the call is executed as its race says
    /// Lets another candidate than what is planned take its turn. A size whose row has no second
    /// plan is then executed as planned. Requires that the call counts.
    void take(const Shape& shape, Chooser& chooser, Chooser::Decision& choice) const;
  };

  /// @param rank, won, clock as those of Epochs
  /// @param replanner null on all ranks: plans stay as they are
  Adaptation(collective::Rank rank, std::vector<Won> won, const observe::ComparedClock* clock,
             std::unique_ptr<Replanner> replanner)
      : _epochs(rank, std::move(won), clock), _replanner(std::move(replanner)) {}

  /// Lets the ranks agree on races and plans, as far as it is time for that. Collective; waits only
  /// as Epochs and Replanner do. Throws MpiError.
  /// @param said gets what there is to say, also if it throws
  void before_call(MPI_Comm comm, Chooser& chooser, Said& said);
  /// Whether there is more than one candidate for a call. The same on all ranks.
  [[nodiscard]] bool has_candidates(const Chooser::Decision& choice) const {
    return choice.prepared != nullptr || has_second(choice);
  }
  /// Returns the turn of a call, which has candidates; its race is added if it isn't known. Whether
  /// there is a race, and whether the call counts, is the same on all ranks.
  /// @param weight called for a new race: returns roughly what such a call takes, in nanoseconds;
  /// equal on all ranks
  template <class Weight>
  Turn turn_of(const Shape& shape, const Chooser::Decision& choice, const Weight& weight) {
    Race* race = _epochs.races.find(key_of(shape.kind, shape.root, shape.size));
    if (race == nullptr) race = add_race(shape, choice, weight());
    return turn_in(race, shape, choice);
  }
  /// Notes a call, before log(). @param size as Collective::size
  void note(collective::Kind kind, collective::Rank root, units::Size size, bool is_planned) {
    if (_replanner != nullptr) _replanner->note(key_of(kind, root, size), size, is_planned);
  }
  /// Returns what counts the messages of a call with a race, which is planned; null: nothing does.
  /// @param size of the call
  observe::PairTimesLog* log(const Turn& turn, units::Size size) {
    if (_replanner == nullptr) return nullptr;
    return _replanner->log(_epochs.races, *turn.race, size);
  }
  /// Counts a call that counts.
  void count(const Turn& turn, CallTimes ticks) { _epochs.races.count(*turn.race, ticks); }
  /// Whether the ranks have begun to agree on something, and not ended that.
  [[nodiscard]] bool is_open() const {
    return _epochs.is_open() || (_replanner != nullptr && _replanner->is_open());
  }
  /// Tells of the arrivals at a call while an agreement is open: as Arrivals::count().
  void left(std::uint64_t call, collective::Kind kind, collective::Rank root, bool waits,
            bool has_data) {
    _arrivals.count(call, kind, root, waits, has_data);
  }
  /// Ends what is open, if all ranks are known to have begun it, and begins what follows.
  /// Collective. Throws MpiError.
  /// @param call the number that left() was told of last
  /// @param said gets what there is to say, also if it throws
  void after_call(MPI_Comm comm, std::uint64_t call, Chooser& chooser, Said& said);
  /// Waits for what is open, as Epochs and Replanner do. No call may follow.
  void end() {
    _epochs.end();
    if (_replanner != nullptr) _replanner->end();
  }

  [[nodiscard]] const Races& races() const { return _epochs.races; }
  /// Returns null where plans stay as they are.
  [[nodiscard]] const Replanner* replanner() const { return _replanner.get(); }

private:
  /// Second plans don't race where plans follow the network, which is noticed by the first ones.
  [[nodiscard]] bool has_second(const Chooser::Decision& choice) const {
    return choice.has_second && _replanner == nullptr;
  }
  void look_after(std::uint64_t epoch);
  [[nodiscard]] Candidates candidates(const Chooser::Decision& choice) const {
    return {choice.prepared != nullptr, has_second(choice)};
  }
  Race* add_race(const Shape& shape, const Chooser::Decision& choice, std::int64_t weight);
  Turn turn_in(Race* race, const Shape& shape, const Chooser::Decision& choice);

  Epochs _epochs;
  Arrivals _arrivals; ///< at calls while an agreement is open
  std::unique_ptr<Replanner> _replanner;
};

} // namespace thalweg::runtime
