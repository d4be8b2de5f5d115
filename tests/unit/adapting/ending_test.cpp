#include "adapting/simulated_mpi.hpp"
#include "runtime/adapt/epochs.hpp"

#include <cfenv>
#include <cstdint>
#include <doctest/doctest.h>
#include <optional>
#include <vector>

namespace thalweg::test {
namespace {

constexpr runtime::RaceKey key{
    .kind = collective::Kind::allreduce, .root = 0, .band = std::int64_t{1} << 19};

runtime::Epochs* ended = nullptr;
int waits = 0;

/// Calls back, as MPICH does for attributes of communicators whose last message arrives meanwhile.
int wait_and_end(MPI_Request* /*request*/, MPI_Status* /*status*/) {
  if (++waits < 3) ended->end();
  return MPI_SUCCESS;
}

int rounding = FE_TONEAREST;

int wait_and_look(MPI_Request* /*request*/, MPI_Status* /*status*/) {
  rounding = std::fegetround();
  return MPI_SUCCESS;
}

/// Makes calls of a race until an agreement is open.
void open_agreement(runtime::Epochs& epochs) {
  for (std::int64_t call = 0; call < 100 && !epochs.is_open(); ++call) {
    epochs.before_call({});
    runtime::Race* race = epochs.races.find(key);
    if (race == nullptr)
      race = epochs.races.add(key, 1'000'000, runtime::Candidates(true, false), false);
    epochs.races.count(*race, {call * 1'000'000, call * 1'000'000 + 500'000});
  }
  REQUIRE(epochs.is_open());
}

} // namespace

TEST_CASE("an agreement that is ended again while it is waited for is waited for once") {
  SimulatedMpi mpi(1, 1e-6, std::nullopt);
  mpi.run_as(0);
  runtime::Epochs epochs(0, std::vector<runtime::Won>(), nullptr);
  open_agreement(epochs);
  ended = &epochs;
  runtime::native.Wait = wait_and_end;
  epochs.end();
  CHECK(waits == 1);
  CHECK_FALSE(epochs.is_open());
}

TEST_CASE("while an agreement is waited for, the program's own reductions round as it does") {
  SimulatedMpi mpi(1, 1e-6, std::nullopt);
  mpi.run_as(0);
  runtime::Epochs epochs(0, std::vector<runtime::Won>(), nullptr);
  open_agreement(epochs);
  runtime::native.Wait = wait_and_look;
  std::fesetround(FE_UPWARD);
  epochs.finish();
  std::fesetround(FE_TONEAREST);
  CHECK(rounding == FE_UPWARD);
}

} // namespace thalweg::test
