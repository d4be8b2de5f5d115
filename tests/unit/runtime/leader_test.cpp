#include "racing_program.hpp"
#include "runtime/adapt/call_observer.hpp"
#include "runtime/adapt/leader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>

using namespace thalweg;
using runtime::Attempt;
using runtime::AttemptState;
using runtime::CallObserver;
using runtime::Leader;

namespace {

const network::Network& two_hosts() {
  static const network::Network network =
      network::even_network(2, units::Time(1e-3), units::Rate(1e6));
  return network;
}

} // namespace

TEST_CASE("attempts that changed plans are kept, whatever came to nothing since") {
  test::RacingProgram program(test::spread(1'000'000, 2'000'000, 1));
  program.run(1);
  AttemptState state;
  Leader leader(state, two_hosts(), "", {0, 1});
  const auto attempt = [&](bool changes) {
    state.enter(true);
    leader.begin_attempt(program.races, 0);
    if (changes) leader.adopt();
  };
  const auto changes = [&] {
    return std::ranges::count_if(leader.attempts(),
                                 [](const Attempt& each) { return each.adopted > 0; });
  };
  attempt(true);
  for (std::size_t i = 0; i < 2 * Leader::most_attempts; ++i)
    attempt(false);
  CHECK(leader.attempts().size() == Leader::most_attempts);
  CHECK(leader.attempts().front().adopted == 1);
  attempt(true);
  CHECK(leader.attempts().back().adopted == state.calls());
  attempt(false);
  CHECK(changes() == 2);
  for (std::size_t i = 0; i < 2 * Leader::most_attempts; ++i)
    attempt(true);
  CHECK(changes() == 2 + 2 * std::ptrdiff_t{Leader::most_attempts});
  CHECK(leader.attempts().front().adopted == 1);
  for (std::size_t i = 0; i < Leader::most_changes; ++i)
    attempt(true);
  CHECK(leader.attempts().size() == Leader::most_changes);
  CHECK(leader.attempts().back().adopted == state.calls());
}

TEST_CASE("a shape of call that was never executed as planned has the size of its calls") {
  constexpr units::Size size = 540'000;
  test::RacingProgram program(test::spread(1'000'000, 2'000'000, 1));
  program.size = [](std::uint64_t call) { return call == 0 ? size : 4096; };
  program.run(2);
  for (const auto& race : program.races.all())
    program.races.find(race.key())->note_size(race.key().band == 4096 ? 4096 : size);
  CallObserver observer({0, 1}, 0);
  observer.note_size(1, 4099);
  REQUIRE(observer.races() == 2);
  CHECK(observer.shape(program.races, 0).size == size);
  CHECK(observer.shape(program.races, 1).size == 4099);
}
