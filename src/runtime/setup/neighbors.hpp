#pragma once

#include "collective/neighborhood.hpp"
#include "planner/neighborhood.hpp"
#include "runtime/choose/chooser.hpp"
#include "runtime/mpi/native.hpp"
#include "runtime/mpi/open_collective.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::runtime {

struct Communicator;
struct Runtime;

/// The neighbours that a communicator's graph or grid gives a rank, in MPI's order; MPI_PROC_NULL
/// beyond a grid's edge.
struct Neighbors {
  std::vector<int> sources, destinations;

  /// Local; empty if the communicator has neither a graph nor a grid.
  static Neighbors of(MPI_Comm comm, int rank);
  /// Whether messages tell which edge they travel along: no rank is there twice, and none is the
  /// rank itself. MPI libraries match edges between the same two ranks in different orders.
  [[nodiscard]] bool are_distinct(int rank) const;
};

/// A rank's part in a planned collective of neighbourhoods. Block i is what goes to the i-th of the
/// neighbours that are there; in an allgather block 0 goes to all. The blocks from neighbours
/// follow.
struct NeighborhoodPlan {
  Prepared paced, at_once;
  std::int64_t destinations = 0; ///< that are there
  std::int64_t bytes = 0;        ///< that the rank sent when the plan was made
  PredictedTimes prediction;     ///< for these sizes

  /// Returns the program for so many bytes: each rank's own choice, since a rank that has posted
  /// all its messages keeps nobody waiting.
  [[nodiscard]] const Prepared& for_size(std::int64_t sent) const {
    return 2 * sent < bytes ? at_once : paced;
  }
};

/// Brings the collectives of neighbourhoods of a communicator to their plans. Its ranks gather the
/// graph and the sizes of the call with which they begin; its first rank decides by simulation
/// (planner::plan_neighborhood), and all agree on that.
///
/// When they begin, and go on, depends on the number of calls alone, since all else may differ
/// between ranks. They gather and agree by OpenCollectives, each waited for 8 calls after it began.
/// From the call on in which the last of them is waited for, all ranks follow the plan.
class Neighborhoods {
public:
  /// A call as far as it is of interest here.
  struct Sizes {
    collective::Neighborhood neighborhood{};
    std::vector<std::int64_t> bytes; ///< by destination
  };

  /// The communicator must have plans, or may get some.
  Neighborhoods(MPI_Comm comm, Communicator& communicator, Runtime& runtime);
  Neighborhoods(const Neighborhoods&) = delete;
  Neighborhoods& operator=(const Neighborhoods&) = delete;

  [[nodiscard]] const Neighbors& neighbors() const { return _neighbors; }
  /// Called before each call. Throws MpiError and std::bad_alloc, as after_call().
  void before_call();
  /// Whether after_call() wants to know sizes.
  [[nodiscard]] bool begins(collective::Neighborhood neighborhood) const;
  /// Called after each call. @param sizes unless they aren't wanted
  void after_call(collective::Neighborhood neighborhood, const Sizes* sizes);
  /// Returns the plan; null if the call is native, because of reason().
  [[nodiscard]] const NeighborhoodPlan* plan(collective::Neighborhood neighborhood) const;
  [[nodiscard]] Reason reason(collective::Neighborhood neighborhood) const;
  /// Waits for what its ranks have begun to agree on. No call may follow.
  void end();

private:
  enum class Stage : std::uint8_t {
    watching,  ///< nothing is open
    counting,  ///< each rank's edges
    gathering, ///< the edges and their sizes
    deciding,
    done, ///< there is nothing to plan
  };
  /// What each rank contributes to the first agreement.
  enum Field : std::uint8_t { usable, degree };
  static constexpr int fields = 2;
  /// What they agree on by minimum; all but the first is the first rank's. It chooses an index in
  /// planner::paces, or `later`.
  enum Verdict : std::uint8_t { consistent, chosen, native_ns, plan_ns };
  static constexpr std::int64_t later = -1;
  /// How far one of the collectives has come to its plan.
  struct PlanState {
    std::int64_t calls = 0, due = 0;
    std::optional<NeighborhoodPlan> plan;
    Reason reason = Reason::not_set_up;
  };

  /// Whether a stage goes on. It does until the next one has begun: if beginning that failed, it is
  /// tried again, since other ranks may be in it.
  [[nodiscard]] bool goes_on() const { return _stage != Stage::watching && _stage != Stage::done; }
  [[nodiscard]] PlanState& state(collective::Neighborhood neighborhood) {
    return _states[static_cast<std::size_t>(neighborhood)];
  }
  [[nodiscard]] const PlanState& state(collective::Neighborhood neighborhood) const {
    return _states[static_cast<std::size_t>(neighborhood)];
  }
  [[nodiscard]] const std::optional<planner::Pace>&
  forced(collective::Neighborhood neighborhood) const;
  void count(const Sizes& sizes);
  void gather();
  void decide();
  void finish();
  void go_on();
  void give_up(Reason reason);
  void wait_longer(Reason reason);
  void choose();
  [[nodiscard]] bool knows_sources() const;
  [[nodiscard]] Prepared prepare(const planner::Pace& pace) const;

  MPI_Comm _comm;
  Communicator& _communicator;
  Runtime& _runtime;
  Neighbors _neighbors;
  network::Placement _placement;
  std::array<PlanState, collective::neighborhood_count> _states;
  Stage _stage = Stage::watching;
  std::uint64_t _calls = 0; ///< of all kinds
  std::uint64_t _force_version;
  OpenCollective _open;
  collective::Neighborhood _agreed{}; ///< about which the ranks agree
  std::int64_t _bytes = 0;            ///< that the rank sends
  std::array<std::int64_t, fields> _own{};
  std::vector<std::int64_t> _all, _own_edges, _all_edges; ///< edges: destination and bytes
  std::vector<int> _counts, _begins;                      ///< of _all_edges, by rank
  std::vector<planner::Edge> _edges;
  std::array<std::int64_t, 4> _verdict{}, _agreed_verdict{};
};

} // namespace thalweg::runtime
