#include "runtime/setup/negotiation.hpp"

#include "runtime/execute/own_arithmetic.hpp"
#include "runtime/mpi/error.hpp"
#include "runtime/observe/clock.hpp"
#include "runtime/setup/runtime.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::runtime {
namespace {

/// How many times as much as an agreement calls must have cost before one begins.
constexpr std::int64_t calls_per_agreement = 20;

} // namespace

Negotiation::Negotiation(MPI_Comm comm, Communicator& communicator, Runtime& runtime)
    : _comm(comm), _communicator(communicator), _runtime(runtime) {
  // What is forced needs no plan.
  if (runtime.has_tables())
    _due_ns = calls_per_agreement *
              call_cost_ns(collective::Kind::allreduce, communicator.size, 8, runtime.slowest_path);
}

void Negotiation::before_call(std::uint32_t sequence) {
  _now = sequence;
  if (goes_on() && _open.is_late(sequence)) go_on();
}

void Negotiation::after_call(std::uint32_t sequence, std::int64_t cost_ns, bool waited) {
  _now = sequence;
  if (_stage == Stage::watching) {
    _spent_ns += cost_ns;
    if (_spent_ns >= _due_ns) begin();
  }
  while (waited && goes_on())
    go_on();
}

void Negotiation::end() {
  _stage = Stage::done;
  _open.end();
  withdraw();
  _claimed = nullptr;
}

void Negotiation::go_on() {
  _open.wait(); // in the program's arithmetic: its own reductions may go on meanwhile
  const OwnArithmetic arithmetic;
  switch (_stage) {
  case Stage::agreeing:
    return lacks_number() ? claim() : look_for_table();
  case Stage::claiming:
    return claimed();
  case Stage::announcing:
    return share();
  case Stage::sharing:
    _table = _runtime.tables.add(_placement, _bytes, _announced[1]);
    return finish();
  case Stage::watching:
  case Stage::done:
    break;
  }
}

void Negotiation::begin() {
  const OwnArithmetic arithmetic;
  if (_placement.empty()) {
    _communicator.describe(_comm, _runtime);
    if (_communicator.reason != Reason::not_set_up) {
      _stage = Stage::done;
      return;
    }
    for (const int rank : _communicator.world_ranks)
      _placement.push_back(_runtime.hosts[index(rank)]);
  }
  agree();
}

bool Negotiation::lacks_number() const {
  return _runtime.multiple_threads && _communicator.number_for_tags == nullptr;
}

void Negotiation::propose() {
  using enum NegotiationRecord::Field;
  withdraw();
  Communicators& all = _runtime.communicators;
  if (lacks_number()) _proposed = all.tags().propose(_above);
  _own[number] = _proposed;
  const bool names = _communicator.rank == 0 && _communicator.name < 0;
  _own[name] = names ? all.next_name() : _communicator.name;
}

void Negotiation::withdraw() {
  if (_proposed > 0) _runtime.communicators.tags().withdraw(std::exchange(_proposed, 0));
}

void Negotiation::agree() {
  using enum NegotiationRecord::Field;
  KnownTable known;
  if (_runtime.has_tables()) known = _runtime.tables.known(_placement, _runtime.plan);
  _table = known.table;
  const bool lacks = _runtime.has_tables() && _table == nullptr;
  const PlanningBudget budget = _runtime.tables.budget();
  propose();
  _own[lacking] = lacks ? 1 : 0;
  _own[latest_owner] = lacks ? -1 : _communicator.rank;
  _own[shortfall_ns] = budget.shortfall_ns(_communicator.size, observe::monotonic_ns());
  _own[planning_ns] = budget.expected_ns(_communicator.size);
  _own.set_checksum(known.checksum);
  check(native.Iallreduce(_own.values.data(), _all.values.data(),
                          static_cast<int>(_own.values.size()), native.int64, native.max, _comm,
                          _open.request()));
  _stage = Stage::agreeing;
  _open.begin(_now);
}

void Negotiation::claim() {
  withdraw();
  _claimed = nullptr; // where this is tried again
  _claimed = _runtime.communicators.tags().claim(static_cast<int>(_all[NegotiationRecord::number]));
  _has_claimed = _claimed != nullptr ? 1 : 0;
  check(native.Iallreduce(&_has_claimed, &_all_claimed, 1, native.integer, native.min, _comm,
                          _open.request()));
  _stage = Stage::claiming;
  _open.begin(_now);
}

void Negotiation::claimed() {
  if (_all_claimed != 0) {
    _communicator.number_for_tags = std::exchange(_claimed, nullptr);
    return look_for_table();
  }
  _claimed = nullptr;
  _above = Tags::above_conflict(static_cast<int>(_all[NegotiationRecord::number]));
  agree();
}

void Negotiation::look_for_table() {
  using enum NegotiationRecord::Field;
  _communicator.name = static_cast<int>(_all[name]);
  if (_runtime.multiple_threads &&
      acknowledgement_tag(*_communicator.number_for_tags) > _runtime.largest_tag) {
    _communicator.number_for_tags = nullptr;
    _communicator.reason = Reason::tags_exhausted;
    _stage = Stage::done;
    return;
  }
  if (_all.all_know_the_same()) return finish();
  if (_all[latest_owner] >= 0) return announce(static_cast<int>(_all[latest_owner]));
  if (_spent_ns >= _all[planning_ns] && _all[shortfall_ns] <= 0) return announce(0);
  _due_ns = std::max(2 * _spent_ns, _all[planning_ns]);
  _stage = Stage::watching;
}

/// @param owner has the table, or plans now
void Negotiation::announce(int owner) {
  _owner = owner;
  if (_communicator.rank == owner) {
    const std::int64_t begin_ns = observe::monotonic_ns();
    // A table that this rank knew when the ranks agreed may have been dropped since.
    if (_table == nullptr) _table = _runtime.tables.known(_placement, _runtime.plan).table;
    if (_table != nullptr) {
      const auto made = planner::to_bytes(*_table);
      _bytes.assign(reinterpret_cast<const char*>(made.data()), made.size());
    } else {
      _bytes = Tables::make(_placement, _runtime.plan);
      _announced[1] = observe::monotonic_ns() - begin_ns;
    }
    _announced[0] = static_cast<std::int64_t>(_bytes.size());
  }
  check(native.Ibcast(_announced.data(), static_cast<int>(_announced.size()), native.int64, owner,
                      _comm, _open.request()));
  _stage = Stage::announcing;
  _open.begin(_now);
}

void Negotiation::share() {
  _bytes.resize(index(_announced[0]));
  check(native.Ibcast(_bytes.data(), static_cast<int>(_bytes.size()), native.byte, _owner, _comm,
                      _open.request()));
  _stage = Stage::sharing;
  _open.begin(_now);
}

void Negotiation::finish() {
  _communicator.enable(std::move(_placement), std::move(_table), _runtime);
  _stage = Stage::done;
}

} // namespace thalweg::runtime
