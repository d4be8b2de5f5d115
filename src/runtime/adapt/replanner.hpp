#pragma once

#include "runtime/adapt/change_report.hpp"
#include "runtime/adapt/planning_thread.hpp"
#include "runtime/adapt/races.hpp"
#include "runtime/adapt/replanning.hpp"
#include "runtime/choose/chooser.hpp"
#include "runtime/mpi/native.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::runtime {

/// Lets the plans of a communicator follow the network: observes its planned calls, and does for
/// Replanning what needs messages and memory.
class Replanner {
public:
  /// The most hosts with ranks, and the most hosts of a network.
  static constexpr std::size_t most_hosts = 64, most_network = 512;

  /// @param network in force, which must outlive it
  Replanner(const Network& network, std::string library, network::Placement placement,
            collective::Rank rank);
  Replanner(const Replanner&) = delete;
  Replanner& operator=(const Replanner&) = delete;

  /// Called before each blocking call, after Epochs::before_call().
  /// @param may_change whether no race is being agreed on. Throws MpiError. Returns what is to be
  /// said to the user; empty: nothing.
  std::string before_call(MPI_Comm comm, Races& races, Chooser& chooser, bool may_change);
  [[nodiscard]] bool is_open() const { return _state.is_open(); }
  /// Whether it has begun in an earlier call than the one so many calls ago.
  [[nodiscard]] bool has_begun_before(std::uint64_t ago) const {
    return _state.has_begun_before(ago);
  }
  /// Ends what is open, which may be waited for once all ranks are known to have entered a later
  /// call (Arrivals), and begins what follows. Throws and returns the same.
  std::string go_on(MPI_Comm comm, Races& races, Chooser& chooser, bool may_change);
  /// Whether plans that aren't in force are tried in this call, which then isn't raced.
  [[nodiscard]] bool tries() const { return _state.tries(); }
  /// Called when an agreement on races has ended.
  void look(Races& races);
  /// Notes a blocking call, before log().
  void note(const RaceKey& key, units::Size size, bool is_planned) {
    _row[_rows++ % _row.size()] = {key, size, is_planned};
  }
  /// Returns what counts the messages of the next call, which is planned; null: nothing does.
  /// @param race of the call, @param size its size
  observe::PairTimesLog* log(const Races& races, const Race& race, units::Size size);
  /// Waits for what is open, and for the thread. No call may follow.
  void end();

  [[nodiscard]] const std::vector<Attempt>& attempts() const { return _attempts; }
  /// Returns the network as the leader knows it by now.
  [[nodiscard]] const Network& network() const { return _changed ? *_changed : _plan_network; }

private:
  /// Observations of a race.
  struct Seen {
    std::vector<observe::PairTimes> incoming; ///< by host of the sender and class
    units::Size size = 0;
  };
  [[nodiscard]] bool leads() const { return _rank == 0; }
  void act(Replanning::Act act, MPI_Comm comm, Races& races, Chooser& chooser);
  std::string finish();
  void begin_agreement(MPI_Comm comm, const Chooser& chooser);
  void begin_collection(MPI_Comm comm);
  void begin_sharing(MPI_Comm comm);
  void swap_tables(Chooser& chooser);
  void change(Races& races, Chooser& chooser, bool back);
  [[nodiscard]] bool prepare(const Chooser& chooser);
  [[nodiscard]] bool make_room();
  [[nodiscard]] bool read_table(const Chooser& chooser);
  void forget(std::size_t race);
  void look_at(Races& races, std::size_t at);
  void follow_up(Races& races);
  void begin_attempt(const Races& races, std::size_t race);
  void start_planning();
  [[nodiscard]] std::shared_ptr<Observations> observations(const Races& races,
                                                           const Chooser& chooser) const;
  [[nodiscard]] std::vector<RowedCall> latest_calls() const;
  [[nodiscard]] std::size_t sums_of_pairs() const {
    return _hosts.size() * _hosts.size() * observe::PairTimes::classes;
  }
  [[nodiscard]] std::string ended();

  Replanning _state;
  const Network& _plan_network;
  /// The leader's: as the network is known to be, was before, and will be with the next plans.
  std::optional<Network> _changed, _before, _next;
  std::string _library;
  network::Placement _placement;
  collective::Rank _rank;
  std::vector<HostId> _hosts; ///< that have ranks
  std::int32_t _own_host = 0; ///< of this rank, in _hosts
  observe::PairTimesLog _log;
  std::vector<Seen> _seen;        ///< by race
  std::array<RowedCall, 36> _row; ///< the latest calls; modulo their number
  std::size_t _rows = 0;          ///< calls that were noted
  MPI_Request _request{};
  ReplanRecord _own{}, _all{};
  std::vector<std::uint64_t> _sums, _all_sums;
  std::string _bytes;
  std::uint64_t _content = 0;                               ///< hash of the new plans
  std::shared_ptr<const planner::Table> _table, _old_table; ///< to come, and before
  std::unique_ptr<PlanningThread> _thread;
  std::shared_ptr<Observations> _observations;
  std::vector<Attempt> _attempts;
  bool _said_failure = false;
  bool _compares = false; ///< the plans that were adopted haven't been compared with those before
  /// Of a call: before a drift was noticed last, and then.
  std::int64_t _usual_ns = 0, _cost_before_ns = 0;
  std::uint64_t _adopted_at = 0; ///< epoch
  std::uint64_t _changed_at = 0; ///< the communicator's call in which plans changed last
};

} // namespace thalweg::runtime
