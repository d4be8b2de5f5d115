#include "../schedule/toys.hpp"
#include "algorithms/listed.hpp"
#include "networks.hpp"

#include <array>
#include <doctest/doctest.h>
#include <stdexcept>
#include <string>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::Range;
using schedule::Transfer;

bool same(const Transfer& a, const Transfer& b) {
  return a.from == b.from && a.to == b.to && a.step == b.step && a.how == b.how && a.src == b.src &&
         a.dst == b.dst && std::ranges::equal(a.what, b.what);
}

bool is_sound(const Skeleton& skeleton) {
  try {
    check(skeleton);
  } catch (const std::invalid_argument&) {
    return false;
  }
  return true;
}

/// The transfers that emit() gives a rank are those of the schedule that it takes part in.
void check_emit(const Skeleton& skeleton, Kind kind, const schedule::Schedule& schedule,
                Rank rank) {
  Sink sink;
  find("listed").emit(kind, skeleton, rank, sink);
  const std::vector<Transfer> emitted = sink.transfers();
  std::size_t next = 0;
  for (const Transfer& t : schedule.transfers()) {
    if (rank != no_rank && t.from != rank && t.to != rank) continue;
    REQUIRE(next < emitted.size());
    CHECK(same(t, emitted[next++]));
  }
  CHECK(next == emitted.size());
}

TEST_CASE("a list gives back the transfers that it was made from, rank by rank") {
  for (const schedule::test::Toy& toy : schedule::test::all_toys()) {
    CAPTURE(toy.name);
    const schedule::Schedule schedule = to_schedule(toy);
    if (schedule.transfers().empty()) continue;
    const Skeleton skeleton = list(toy.collective, schedule);
    CHECK(is_sound(skeleton));
    CHECK(skeleton.ranks == toy.collective.ranks);
    CHECK(skeleton.root == toy.collective.root);
    CHECK(expand(toy.collective.kind, skeleton, 1000).chunks() == toy.chunks);
    for (Rank rank = no_rank; rank < toy.collective.ranks; ++rank)
      check_emit(skeleton, toy.collective.kind, schedule, rank);
  }
}

TEST_CASE("a list keeps segments, period, window and weights") {
  const Network network = testing::two_sites();
  const Problem problem{{.kind = Kind::bcast, .ranks = 16, .root = 5, .size = 100'000},
                        network,
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  for (const char* name : {"pipelined-chain", "site-scatter-allgather", "far-first"}) {
    CAPTURE(name);
    Skeleton made = find(name).build(problem, {.segment_size = 3000});
    made.window = 2;
    const schedule::Schedule whole = expand(Kind::bcast, made, problem.collective.size);
    const Skeleton listed = list(problem.collective, whole);
    const schedule::Schedule again = expand(Kind::bcast, listed, problem.collective.size);
    CHECK(again.pipeline() == whole.pipeline());
    CHECK(std::ranges::equal(again.weights(), whole.weights()));
    CHECK(again.chunks() == whole.chunks());
    check_emit(listed, Kind::bcast, whole, no_rank);
  }
}

TEST_CASE("segments that plans can't have are refused") {
  const schedule::test::Toy toy = schedule::test::binomial_bcast(5, 2);
  const schedule::Schedule whole = to_schedule(toy);
  const auto with = [&](std::int32_t segments, units::Size size) {
    Sink sink;
    for (const Transfer& t : whole.transfers())
      sink.add(t.from, t.to, t.step, t.how, t.what, t.src, t.dst);
    collective::Collective collective = toy.collective;
    collective.size = size;
    const schedule::Schedule cut(whole.chunks(), {segments, 8, 0}, std::move(sink));
    return list(collective, cut).pipeline(size).segments;
  };
  CHECK(with(25, 100) == 25);
  CHECK_THROWS_WITH_AS(with(30, 100), doctest::Contains("into 25 segments, not into the 30"),
                       std::invalid_argument);
  CHECK_THROWS_AS(with(2, 0), std::invalid_argument);
}

TEST_CASE("only schedules that do what is asked for are listed") {
  const schedule::test::Toy toy = schedule::test::binomial_bcast(5, 2);
  Collective other = toy.collective;
  other.root = 1;
  CHECK_THROWS_WITH_AS(list(other, to_schedule(toy)), doctest::Contains("rank 2 lacks"),
                       std::invalid_argument);
}

TEST_CASE("it is found by name, but builds nothing from a problem") {
  const Algorithm& listed = find("listed");
  for (const collective::Kind kind : collective::kinds)
    CHECK(!listed.supports(kind));
  const Network network = testing::two_sites(1);
  CHECK_THROWS_WITH_AS(listed.build({{.ranks = 2}, network, {0, 1}}, {}),
                       doctest::Contains("--schedule"), std::invalid_argument);
}

TEST_CASE("a list that isn't one is recognised") {
  const Skeleton good =
      list({Kind::bcast, 3, 1}, to_schedule(schedule::test::binomial_bcast(3, 1)));
  REQUIRE(good.transfers.size() == 20); // two transfers of one range
  CHECK(is_sound(good));
  // from, to, step, how, src, dst, ranges, first, count, stride: what each may not be.
  const std::array<std::vector<std::int32_t>, 10> wrong = {{{-1, 3},
                                                            {-1, 3},
                                                            {-1, 7},
                                                            {-1, 3},
                                                            {-1, 256},
                                                            {-1, 256},
                                                            {0, 2, 1 << 30},
                                                            {-1, 1 << 20},
                                                            {0, 1 << 20},
                                                            {0}}};
  for (std::size_t field = 0; field < wrong.size(); ++field)
    for (const std::int32_t value : wrong[field]) {
      CAPTURE(field);
      CAPTURE(value);
      Skeleton bad = good;
      bad.transfers[field] = value;
      CHECK(!is_sound(bad));
    }
  for (std::size_t size = 0; size < good.transfers.size(); ++size) {
    Skeleton shorter = good;
    shorter.transfers.resize(size);
    CHECK(is_sound(shorter) == (size == 10));
  }
  Skeleton other = good;
  other.algorithm = "flat";
  CHECK(!is_sound(other));
}

} // namespace
} // namespace thalweg::algorithms
