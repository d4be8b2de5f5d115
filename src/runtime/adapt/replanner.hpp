#pragma once

#include "runtime/adapt/attempt_state.hpp"
#include "runtime/adapt/call_observer.hpp"
#include "runtime/adapt/leader.hpp"
#include "runtime/adapt/races.hpp"
#include "runtime/choose/chooser.hpp"
#include "runtime/mpi/native.hpp"
#include "runtime/mpi/open_collective.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace thalweg::runtime {

/// Lets the plans of a communicator follow the network: does what AttemptState decides, which needs
/// messages and memory, with what CallObserver observes and, on rank 0, with the Leader.
class Replanner {
public:
  /// The most hosts with ranks, and the most hosts of a network.
  static constexpr std::size_t most_hosts = 64, most_network = 512;
  /// Whether the plans of so many hosts' ranks may follow a network.
  static bool follows(std::size_t hosts, const Network& network) {
    return hosts <= most_hosts && static_cast<std::size_t>(network.size()) <= most_network;
  }

  /// @param network in force, which must outlive it
  /// @param rank of this process in the communicator; 0 leads
  Replanner(const Network& network, std::string library, network::Placement placement,
            collective::Rank rank);
  Replanner(const Replanner&) = delete;
  Replanner& operator=(const Replanner&) = delete;

  /// Counts a blocking call, before it and after Epochs::before_call(), and begins what is due in
  /// it. Returns what is to be said to the user; empty: nothing. Collective, but waits only for
  /// what began at least OpenSince::least_patience calls ago.
  /// @param may_change whether plans may change in this call: no race is being agreed on
  /// @throws MpiError
  std::string before_call(MPI_Comm comm, Races& races, Chooser& chooser, bool may_change);
  /// Whether a nonblocking collective of ours has begun and not ended.
  [[nodiscard]] bool is_open() const { return _state.is_open(); }
  /// Whether it has begun before the call that was made `ago` calls ago.
  [[nodiscard]] bool has_begun_before(std::uint64_t ago) const {
    return _state.has_begun_before(ago);
  }
  /// Ends what is open, which may be waited for once all ranks are known to have entered a later
  /// call (Arrivals), and begins what follows. Collective. Returns what is to be said to the user.
  /// @throws MpiError
  std::string go_on(MPI_Comm comm, Races& races, Chooser& chooser, bool may_change);
  /// Whether plans that aren't in force are tried in this call, which then isn't raced.
  [[nodiscard]] bool tries() const { return _state.tries(); }
  /// Finds out whether plans drifted or are due for a change, when an agreement on races has ended.
  /// Collective, without messages: all ranks find the same.
  void look(Races& races);
  /// Notes a blocking call, before log().
  void note(const RaceKey& key, units::Size size, bool is_planned) {
    _observer.note({key, size, is_planned});
  }
  /// Returns what counts the messages of the next call, which is planned; null: nothing does.
  /// @param race of the call, @param size its size
  observe::PairTimesLog* log(const Races& races, const Race& race, units::Size size);
  /// Waits for what is open, and for the thread, which is cancelled. No rank waits for what another
  /// one plans. No call may follow.
  void end();

  /// Returns the attempts so far, but for one that isn't confirmed yet; none if this isn't the
  /// leader.
  [[nodiscard]] std::span<const Attempt> attempts() const {
    if (_leader == nullptr) return {};
    const std::span<const Attempt> all = _leader->attempts();
    return _state.is_unconfirmed() && !all.empty() ? all.first(all.size() - 1) : all;
  }
  /// Returns the network as this rank knows it by now: changed, if it is the leader.
  [[nodiscard]] const Network& network() const {
    return _leader != nullptr ? _leader->network() : _plan_network;
  }

private:
  void act(AttemptState::Act act, MPI_Comm comm, Races& races, Chooser& chooser);
  std::string finish();
  void begin_agreement(MPI_Comm comm, const Chooser& chooser);
  void begin_collection(MPI_Comm comm);
  void begin_sharing(MPI_Comm comm);
  void swap_tables(Chooser& chooser);
  void adopt(Races& races, Chooser& chooser);
  void go_back(Races& races, Chooser& chooser);
  void restart(Races& races, const Chooser& chooser, bool compares);
  [[nodiscard]] bool prepare(const Chooser& chooser);
  void make_room();
  void read_table(const Chooser& chooser);
  void look_at(Races& races, std::size_t at);
  [[nodiscard]] bool compare_plans(const Races& races, std::size_t at);
  void follow_up(Races& races);
  void follow_drift(Races& races, std::size_t drifted);
  void look_without_drift(const Races& races, std::size_t at);
  void begin_attempt(const Races& races, std::size_t race);

  AttemptState _state;
  const Network& _plan_network;
  CallObserver _observer;
  std::unique_ptr<Leader> _leader; ///< null on other ranks
  OpenCollective _open;
  ReplanRecord _own{}, _all{};
  std::vector<std::uint64_t> _sums; ///< what this rank observed, for the leader
  std::string _bytes;
  std::uint64_t _content = 0;                               ///< hash of the new plans
  std::shared_ptr<const planner::Table> _table, _old_table; ///< to come, and before
  bool _compares = false; ///< the plans that were adopted haven't been compared with those before
  /// What a call took before a drift was noticed last, and then.
  std::int64_t _usual_ns = 0, _cost_before_ns = 0;
  /// Whether calls took as usual and then longer again while an attempt isn't confirmed.
  bool _has_returned = false;
  /// Looks at other races since that of an attempt was looked at that isn't confirmed.
  std::uint64_t _looks_elsewhere = 0;
  std::uint64_t _adopted_at = 0;   ///< epoch
  std::uint64_t _calls_before = 0; ///< of the shape whose plan was adopted, until then
  std::uint64_t _changed_at = 0;   ///< the communicator's call in which plans changed last
};

} // namespace thalweg::runtime
