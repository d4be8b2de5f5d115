#include "runtime/adapt/report.hpp"
#include "unit/runtime/racing_program.hpp"

#include <doctest/doctest.h>

using namespace thalweg;
using runtime::Candidates;
using test::Candidate;
using test::RacingProgram;
using test::spread;

namespace {

constexpr Candidates plan_and_second{true, true}, without_plan{false, true};

} // namespace

TEST_CASE("the second plan wins where the first one was wrongly predicted to be faster") {
  RacingProgram program(spread({{1'200'000, 3'000'000, 1'000'000}}, 1), plan_and_second);
  program.facts.predicted_native_ns = 3'000'000;
  program.run(2'000);
  CHECK(program.incumbent() == Candidate::second);
  program.run(20'000);
  CHECK(program.incumbent() == Candidate::second);
  CHECK(program.races.all().front().lost_ns() <= program.now_ns / 50);
}

TEST_CASE("the second plan is tried although native is too slow to be tried") {
  RacingProgram program(spread({{1'500'000, 90'000'000, 1'000'000}}, 2), plan_and_second);
  program.facts.predicted_native_ns = 90'000'000;
  program.run(100);
  CHECK(program.incumbent() == Candidate::second);
  CHECK(program.calls_of[Candidate::native] == 0);
}

TEST_CASE("each of the three may win, wherever the race begins") {
  for (const Candidate best : runtime::all_candidates)
    for (const Candidates candidates : {plan_and_second, without_plan}) {
      if (!candidates.contains(best)) continue;
      CAPTURE(units::name_of(best));
      runtime::ByCandidate<std::int64_t> costs_ns{{1'500'000, 1'600'000, 1'700'000}};
      costs_ns[best] = 1'000'000;
      RacingProgram program(spread(costs_ns, 3), candidates);
      program.facts.predicted_native_ns = costs_ns[Candidate::native];
      program.run(10'000);
      CHECK(program.incumbent() == best);
      CHECK(program.races.all().front().lost_ns() <= program.now_ns / 50);
    }
}

TEST_CASE("what doesn't race is never called") {
  RacingProgram no_plan(spread({{1, 1'000'000, 1'100'000}}, 4), without_plan);
  no_plan.run(5'000);
  CHECK(no_plan.calls_of[Candidate::plan] == 0);
  CHECK(no_plan.calls_of[Candidate::second] > 0);
  CHECK(no_plan.incumbent() == Candidate::native);
  RacingProgram no_second(spread({{1'000'000, 1'100'000, 1}}, 4), {true, false});
  no_second.run(5'000);
  CHECK(no_second.calls_of[Candidate::second] == 0);
}

TEST_CASE("three candidates that take the same seldom replace each other") {
  int native = 0, second = 0; // in force at the end
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RacingProgram program(spread({{1'000'000, 1'000'000, 1'000'000}}, seed), plan_and_second);
    program.run(5'000);
    native += program.incumbent() == Candidate::native ? 1 : 0;
    second += program.incumbent() == Candidate::second ? 1 : 0;
  }
  CHECK(native <= 20); // which needs to be 3 % faster only
  CHECK(second <= 2);
}

TEST_CASE("a call that native is planned for goes back to native when a plan gets slow") {
  std::int64_t second_ns = 1'000'000;
  RacingProgram program(
      [&](Candidate candidate, std::uint64_t call) {
        return (candidate == Candidate::native ? 1'500'000 : second_ns) +
               static_cast<std::int64_t>(call * 7919 % 50'000);
      },
      without_plan);
  program.run(2'000);
  CHECK(program.incumbent() == Candidate::second);
  second_ns = 6'000'000;
  program.run(2'000);
  CHECK(program.incumbent() == Candidate::native);
}

TEST_CASE("a report names the algorithms of both plans") {
  RacingProgram program(spread({{1'500'000, 9'000'000, 1'000'000}}, 5), plan_and_second);
  program.run(500);
  planner::Entry row;
  row.kind = collective::Kind::allreduce;
  row.native = false;
  row.skeleton.algorithm = "ring";
  row.second.emplace().algorithm = "rabenseifner";
  const planner::Table table{{0, 1}, {row}};
  const auto found = reports(program.races, &table, 4, 0);
  REQUIRE(found.size() == 1);
  CHECK(found.front().find("\"winner\": \"second\"") != std::string::npos);
  CHECK(found.front().find(R"("algorithms": {"plan": "ring", "native": "", "second": )"
                           R"("rabenseifner"})") != std::string::npos);
}

TEST_CASE("a report is about the sizes of the calls that were made") {
  RacingProgram program(spread({{1'500'000, 1'000'000, 9'000'000}}, 5), {true, false});
  program.run(500);
  planner::Entry row;
  row.kind = collective::Kind::allreduce;
  row.native = false;
  row.skeleton.algorithm = "rabenseifner";
  planner::Entry next = row;
  next.min_size = 540'000;
  next.skeleton.algorithm = "ring";
  const planner::Table table{{0, 1}, {row, next}};
  const auto reported = [&] { return reports(program.races, &table, 4, 0).at(0); };
  CHECK(reported().find(R"("size": 524288, "largest": 557055)") != std::string::npos);
  program.races.find(test::allreduce)->note_size(540'600);
  CHECK(reported().find(R"("size": 540600, "largest": 540600)") != std::string::npos);
  CHECK(reported().find(R"("plan": "ring")") != std::string::npos);
  program.races.find(test::allreduce)->note_size(530'000);
  CHECK(reported().find(R"("size": 530000, "largest": 540600)") != std::string::npos);
}
