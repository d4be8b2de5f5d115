#include "runtime/adapt/epochs.hpp"

#include "runtime/execute/own_arithmetic.hpp"
#include "runtime/mpi/error.hpp"

namespace thalweg::runtime {
namespace {

/// Stands for a clock of which nothing is known.
constexpr std::int64_t unknown_error_ns = std::int64_t{1} << 50;

} // namespace

bool Epochs::before_call(MPI_Comm comm) {
  if (!is_open()) {
    if (races.enter()) begin(comm);
    return false;
  }
  races.enter_agreeing();
  return _open.is_late(races.calls(), races.patience(false)) && finish();
}

void Epochs::begin(MPI_Comm comm) {
  const OwnArithmetic arithmetic;
  const std::int64_t begin_ns = observe::monotonic_ns();
  _clock.calibrate();
  RaceFacts facts = predictions(races.at());
  facts.clock_error_ns = unknown_error_ns;
  std::int64_t offset_ns = 0;
  if (const auto reading = _compared != nullptr ? _compared->at(begin_ns) : std::nullopt) {
    offset_ns = reading->offset_ns;
    facts.clock_error_ns = reading->error_ns;
  }
  _own = races.record(_rank, begin_ns - _began_ns, _cost_ns, facts,
                      [&](observe::Ticks ticks) { return _clock.to_ns(ticks) + offset_ns; });
  check(native.Iallreduce(_own.data(), _all.data(), static_cast<int>(_own.size()), native.int64,
                          native.min, comm, _open.request()));
  _open.begin(races.calls());
  _began_ns = begin_ns;
  _cost_ns = observe::monotonic_ns() - begin_ns;
}

bool Epochs::finish() {
  const std::int64_t begin_ns = observe::monotonic_ns();
  _open.wait(); // in the program's arithmetic: its own reductions may go on meanwhile
  const OwnArithmetic arithmetic;
  const bool were_equal = races.agree(_all);
  _cost_ns += observe::monotonic_ns() - begin_ns;
  return !were_equal;
}

} // namespace thalweg::runtime
