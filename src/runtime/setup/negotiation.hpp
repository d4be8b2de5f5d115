#pragma once

#include "network/network.hpp"
#include "planner/table.hpp"
#include "runtime/choose/worth.hpp"
#include "runtime/mpi/native.hpp"
#include "runtime/mpi/open_collective.hpp"
#include "runtime/setup/negotiation_record.hpp"
#include "runtime/setup/tags.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace thalweg::runtime {

struct Communicator;
struct Runtime;

/// Brings a communicator from its first call to its plans. It costs nothing before its calls have
/// cost 20 times what an agreement costs. Then its ranks agree on whether all know a table for
/// their placement, the same one; if some do, they share it; if none does, the first rank plans
/// once the calls have cost more than that, and if it takes no rank's planning above 2 % of the
/// time since MPI_Init.
///
/// All ranks decide alike: when they begin to agree depends on the calls' number, collectives and
/// sizes alone; the rest on what all get from the agreement. An agreement is an OpenCollective,
/// which is waited for after the first call that no rank leaves before all have entered it, or else
/// 8 calls later.
class Negotiation {
public:
  Negotiation(MPI_Comm comm, Communicator& communicator, Runtime& runtime);
  Negotiation(const Negotiation&) = delete;
  Negotiation& operator=(const Negotiation&) = delete;

  /// Called before a call. @param sequence counts the calls of the communicator
  void before_call(std::uint32_t sequence);
  /// Called after it.
  /// @param cost_ns as call_cost_ns() says
  /// @param waited whether no rank has left it before all had entered it
  void after_call(std::uint32_t sequence, std::int64_t cost_ns, bool waited);
  /// Whether nothing is left to be agreed on.
  [[nodiscard]] bool done() const { return _stage == Stage::done; }
  /// Waits until no operation of the communicator is open, and ends.
  void end();

private:
  enum class Stage : std::uint8_t {
    watching,   ///< nothing is open
    agreeing,   ///< on number and table
    claiming,   ///< the number, where threads may agree at the same time
    announcing, ///< the size of a table
    sharing,    ///< its bytes
    done,
  };
  /// Whether a stage goes on. It does until the next one has begun: if beginning that failed, it is
  /// tried again, since other ranks may be in it.
  [[nodiscard]] bool goes_on() const { return _stage != Stage::watching && _stage != Stage::done; }
  void begin();
  void agree();
  void propose();
  void withdraw();
  /// Whether the communicator needs a number that it doesn't have.
  [[nodiscard]] bool lacks_number() const;
  void claim();
  void claimed();
  void look_for_table();
  void announce(int owner);
  void share();
  void finish();
  /// Waits for the open operation and goes on with the next stage.
  void go_on();

  MPI_Comm _comm;
  Communicator& _communicator;
  Runtime& _runtime;
  network::Placement _placement;
  std::shared_ptr<const planner::Table> _table; ///< null: not known, or none is needed
  Stage _stage = Stage::watching;
  OpenCollective _open;
  std::uint32_t _now = 0; ///< the call
  std::int64_t _spent_ns = 0, _due_ns = 0;
  NegotiationRecord _own{}, _all{};
  int _proposed = 0;     ///< by this rank; 0: nothing
  int _above = 0;        ///< what numbers are to be above, after conflicts
  Tags::Number _claimed; ///< null: it isn't free here
  int _has_claimed = 0, _all_claimed = 0;
  int _owner = 0;                           ///< of the table
  std::array<std::int64_t, 2> _announced{}; ///< bytes of the table, nanoseconds of planning
  std::string _bytes;
};

} // namespace thalweg::runtime
