#include "schedule/verify.hpp"
#include "toys.hpp"

#include <doctest/doctest.h>
#include <limits>
#include <stdexcept>
#include <utility>

namespace thalweg::schedule::test {
namespace {

std::string error_of(const Collective& collective, const Schedule& schedule) {
  try {
    verify(collective, schedule);
    return "none";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

/// Not sorted: the order is under test too.
std::string error_of(const Collective& collective, ChunkId chunks,
                     const std::vector<Message>& messages) {
  Sink sink;
  for (const Message& m : messages)
    sink.add(m.from, m.to, m.step, m.how, m.what, m.src, m.dst);
  return error_of(collective, Schedule(chunks, {}, sink));
}

constexpr Collective bcast{Kind::bcast, 3};

} // namespace

TEST_CASE("the steps of all segments are representable") {
  const auto made = [](std::int32_t segments, Step period) {
    return Schedule(1, {segments, period}, Sink());
  };
  CHECK_NOTHROW(made(2, last_step));
  CHECK_NOTHROW(made(last_step + 1, 1));
  static_assert(last_step <= std::numeric_limits<Step>::max() - last_step);
  const Step most = std::numeric_limits<Step>::max();
  for (const auto& [segments, period] :
       {std::pair(2, most), std::pair(most, 1), std::pair(most, most)})
    CHECK_THROWS_WITH_AS(
        made(segments, period),
        doctest::Contains("a schedule's last segment may begin at step 1073741823"),
        std::invalid_argument);
  CHECK_THROWS_AS(made(1, most), std::invalid_argument); // used for larger messages too
}

TEST_CASE("the form of a schedule is checked") {
  const auto of = [](const Message& m) { return error_of(bcast, 4, {m}); };
  CHECK(of({0, 3, 0, How::copy, {{0}}}) == "step 0, 0 -> 3: there are only the ranks 0 to 2");
  CHECK(of({-1, 1, 0, How::copy, {{0}}}) == "step 0, -1 -> 1: there are only the ranks 0 to 2");
  CHECK(of({0, 1, -1, How::copy, {{0}}}) == "step -1, 0 -> 1: the step is below 0");
  CHECK(of({0, 1, last_step + 1, How::copy, {{0}}}) ==
        "step 1073741824, 0 -> 1: the last step is 1073741823");
  CHECK(of({0, 1, 0, How::copy, {}}) == "step 0, 0 -> 1: it moves no chunk");
  CHECK(of({0, 1, 0, How::copy, {{2, 3}}}) ==
        "step 0, 0 -> 1: the range of 3 chunks from 2 in steps of 1 isn't within the 4 chunks");
  CHECK(of({0, 1, 0, How::copy, {{0, 3, 2}}}).find("isn't within") != std::string::npos);
  CHECK(of({0, 1, 0, How::copy, {{0, 0}}}).find("isn't within") != std::string::npos);
  CHECK(of({0, 1, 0, How::copy, {{-1, 1}}}).find("isn't within") != std::string::npos);
  CHECK(of({0, 1, 0, How::copy, {{0, 2, 0}}}).find("isn't within") != std::string::npos);
  const auto huge = std::numeric_limits<ChunkId>::max() / 2;
  CHECK(of({0, 1, 0, How::copy, {{1, huge, huge}}}).find("isn't within") != std::string::npos);
  CHECK(of({0, 1, 0, How::copy, {{0, 1 << 30, 1 << 30}}}).find("isn't within") !=
        std::string::npos);
  CHECK(of({0, 0, 0, How::copy, {{0}}}) ==
        "step 0, 0 -> 0: a local transfer must go to another register");
  const auto ordered = [](const Message& a, const Message& b) {
    return error_of(bcast, 1, {a, b});
  };
  CHECK(ordered({0, 2, 0, How::copy, {{0}}}, {0, 1, 0, How::copy, {{0}}}) ==
        "step 0, 0 -> 1: comes after step 0, 0 -> 2: transfers must ascend by (step, from, to)");
  CHECK(ordered({0, 1, 1, How::copy, {{0}}}, {0, 2, 0, How::copy, {{0}}}).find("must ascend") !=
        std::string::npos);
}

TEST_CASE("the collective must fit the schedule") {
  const Schedule none(3, {}, Sink());
  CHECK(error_of({Kind::bcast, 3, 3}, none) == "a bcast of 3 ranks can't have the root 3");
  CHECK(error_of({Kind::bcast, 0}, none) == "a bcast of 0 ranks can't have the root 0");
  CHECK(error_of({Kind::gather, 2}, none) ==
        "a gather of 2 ranks needs a multiple of 2 chunks, not 3");
  CHECK(error_of({Kind::alltoall, 50000}, none) ==
        "a alltoall of 50000 ranks needs a multiple of 2500000000 chunks, not 3");
  CHECK(error_of({Kind::gather, 3}, Schedule(3, {}, Sink(), {1, 2, 1})) ==
        "a block of this gather has 1 parts, not 3 as it has weights");
  CHECK(error_of({Kind::bcast, 1}, none) == "none");
  CHECK(error_of({Kind::bcast, 2}, none) == "at the end rank 1 lacks chunk 0");
}

TEST_CASE("a read finds the chunk it names") {
  CHECK(error_of(bcast, 2, {{1, 2, 0, How::copy, {{1}}}}) ==
        "step 0, 1 -> 2: register 0 of rank 1 lacks chunk 1");
  // What arrives in a step can't be read in the same step.
  CHECK(error_of(bcast, 1, {{0, 1, 4, How::copy, {{0}}}, {1, 2, 4, How::copy, {{0}}}}) ==
        "step 4, 1 -> 2: register 0 of rank 1 lacks chunk 0");
  CHECK(error_of(bcast, 1, {{0, 1, 0, How::copy, {{0}}, 1, 0}}) ==
        "step 0, 0 -> 1: register 1 of rank 0 lacks chunk 0");
  // In place, 0's block for 1 is gone once 1's block for 0 has arrived.
  const Collective alltoall{Kind::alltoall, 2, 0, 0, true};
  CHECK(error_of(alltoall, 4, {{1, 0, 0, How::copy, {{2}}}, {0, 1, 1, How::copy, {{1}}}}) ==
        "step 1, 0 -> 1: register 0 of rank 0 lacks chunk 1: chunk 2 took its place");
  const Collective apart{Kind::alltoall, 2};
  CHECK(error_of(apart, 4, {{1, 0, 0, How::copy, {{2}}}, {0, 1, 1, How::copy, {{1}}}}) == "none");
}

TEST_CASE("a place takes one copy or several combines per step") {
  CHECK(error_of(bcast, 1, {{0, 1, 0, How::copy, {{0}}}, {0, 1, 0, How::copy, {{0}}}}) ==
        "step 0, 0 -> 1: chunk 0 goes where register 0 of rank 1 is written already in this step");
  CHECK(error_of(bcast, 2, {{0, 1, 0, How::copy, {{0}, {0, 2}}}}).find("written already") !=
        std::string::npos);
  const Collective reduce{Kind::reduce, 3};
  CHECK(error_of(reduce, 1,
                 {{1, 0, 0, How::combine_right, {{0}}}, {2, 0, 0, How::combine_right, {{0}}}}) ==
        "none");
  CHECK(error_of(reduce, 1, {{1, 0, 0, How::copy, {{0}}}, {2, 0, 0, How::combine_right, {{0}}}}) ==
        "step 0, 2 -> 0: chunk 0 goes where register 0 of rank 0 is written already in this step");
}

TEST_CASE("contributions are combined once, in order, and where there is something") {
  const Collective reduce{Kind::reduce, 3};
  CHECK(error_of(reduce, 1, {{1, 0, 0, How::combine_left, {{0}}}}) ==
        "step 0, 1 -> 0: chunk 0 is combined on the left, but its lowest contributor is rank 1 "
        "and that of what is present 0");
  CHECK(error_of(reduce, 1,
                 {{1, 0, 0, How::combine_right, {{0}}}, {1, 0, 1, How::combine_right, {{0}}}}) ==
        "step 1, 1 -> 0: chunk 0 brings the contribution of rank 1 a second time");
  CHECK(error_of(reduce, 1, {{1, 0, 0, How::combine_right, {{0}}}}) ==
        "at the end chunk 0 of rank 0 lacks the contribution of rank 2");
  CHECK(error_of(reduce, 1, {{1, 0, 0, How::combine_right, {{0}}, 0, 1}}) ==
        "step 0, 1 -> 0: register 1 of rank 0 lacks chunk 0 to combine it with");
  CHECK(error_of(bcast, 1,
                 {{0, 0, 0, How::copy, {{0}}, 0, 1}, {0, 0, 1, How::combine_right, {{0}}, 0, 1}}) ==
        "step 1, 0 -> 0: combines chunk 0, but nothing is combined in a bcast");
  // An exscan's result doesn't contain the rank's own contribution.
  CHECK(error_of({Kind::exscan, 2}, 1, {{0, 1, 0, How::combine_left, {{0}}}}) ==
        "at the end chunk 0 of rank 1 wrongly has the contribution of rank 1");
  CHECK(error_of({Kind::exscan, 2}, 1, {{0, 1, 0, How::copy, {{0}}}}) == "none");
}

TEST_CASE("thousands of ranks must have the contributions that are theirs") {
  constexpr Rank ranks = 3000;
  std::vector<Message> scan, exscan, barrier;
  // Each rank passes what it got on, combined with its own; for an exscan in register 1.
  for (Rank rank = 0; rank + 1 < ranks; ++rank) {
    scan.push_back({rank, rank + 1, rank, How::combine_left, {{0}}});
    exscan.push_back({rank, rank, 0, How::copy, {{0}}, 0, 1});
  }
  for (Rank rank = 0; rank + 1 < ranks; ++rank) {
    exscan.push_back({rank, rank + 1, rank + 1, How::copy, {{0}}, 1, 0});
    if (rank + 2 < ranks)
      exscan.push_back({rank, rank + 1, rank + 1, How::combine_left, {{0}}, 1, 1});
  }
  // Everybody tells everybody at a distance of 1, 2, 4, ...
  for (Step step = 0; (1 << step) < ranks; ++step)
    for (Rank rank = 0; rank < ranks; ++rank)
      barrier.push_back({rank, (rank + (1 << step)) % ranks, step, How::combine_right, {{0}}});
  CHECK(error_of({Kind::scan, ranks}, 1, scan) == "none");
  CHECK(error_of({Kind::exscan, ranks}, 1, exscan) == "none");
  CHECK(error_of({Kind::barrier, ranks}, 1, barrier) == "none");
  scan.erase(scan.begin() + 1000);
  CHECK(error_of({Kind::scan, ranks}, 1, scan).find("chunk 0 of rank 1001 lacks") !=
        std::string::npos);
  barrier.pop_back();
  CHECK(error_of({Kind::barrier, ranks}, 1, barrier).find("lacks the contribution") !=
        std::string::npos);
}

TEST_CASE("the ranks of an allreduce must hold the same expression") {
  // All gather at rank 0: (0 1) 2 in register 0, (0 2) 1 in register 1.
  std::vector<Message> messages{
      {0, 0, 0, How::copy, {{0}}, 0, 1},          {1, 0, 1, How::combine_right, {{0}}, 0, 0},
      {2, 0, 1, How::combine_right, {{0}}, 0, 1}, {1, 0, 2, How::combine_right, {{0}}, 0, 1},
      {2, 0, 2, How::combine_right, {{0}}, 0, 0}, {0, 1, 3, How::copy, {{0}}, 1, 0},
      {0, 2, 3, How::copy, {{0}}, 0, 0}};
  const Collective allreduce{Kind::allreduce, 3};
  CHECK(error_of(allreduce, 1, messages) ==
        "at the end rank 1 holds chunk 0 combined in another order than rank 0");
  std::swap(messages[2].step, messages[3].step);
  std::swap(messages[2], messages[3]);
  CHECK(error_of(allreduce, 1, messages) == "none");
}

TEST_CASE("redundant and useless transfers are rejected") {
  const Message first{0, 1, 0, How::copy, {{0}}}, second{0, 2, 1, How::copy, {{0}}};
  CHECK(error_of(bcast, 1, {first, second}) == "none");
  CHECK(error_of(bcast, 1, {first, {0, 1, 1, How::copy, {{0}}}, second}) ==
        "step 1, 0 -> 1: chunk 0 is redundant: register 0 of rank 1 holds it already");
  // From another rank it is only wasteful, as in the van de Geijn broadcast of MPI libraries.
  CHECK(error_of(bcast, 1, {first, second, {2, 1, 2, How::copy, {{0}}}}) == "none");
  CHECK(error_of(bcast, 1, {first, second, {1, 0, 2, How::copy, {{0}}}}) == "none");
  CHECK(error_of(bcast, 1, {first, second, {1, 2, 2, How::copy, {{0}}, 0, 1}}) ==
        "step 2, 1 -> 2: chunk 0 is never read in register 1 of rank 2, nor part of the result");
  CHECK(error_of({Kind::gather, 3}, 3,
                 {{1, 2, 0, How::copy, {{1}}},
                  {1, 0, 1, How::copy, {{1}}},
                  {2, 0, 1, How::copy, {{2}}}}) ==
        "step 0, 1 -> 2: chunk 1 is never read in register 0 of rank 2, nor part of the result");
}

TEST_CASE("blocks may be cut into parts") {
  Toy toy = bruck_allgather(5);
  toy.chunks *= 3;
  for (Message& m : toy.messages)
    for (Range& range : m.what)
      range = {3 * range.first, 3 * range.count};
  CHECK(error_of(toy.collective, to_schedule(toy)) == "none");
  toy.messages.back().what.back().count -= 1;
  CHECK(error_of(toy.collective, to_schedule(toy)).find("lacks chunk") != std::string::npos);
}

TEST_CASE("a schedule is copied and moved with its ranges") {
  Schedule original = to_schedule(bruck_allgather(6));
  const Schedule copy(original);
  const Schedule moved(std::move(original));
  REQUIRE(copy.transfers().size() == moved.transfers().size());
  for (std::size_t i = 0; i < copy.transfers().size(); ++i) {
    CHECK(copy.transfers()[i].what.data() != moved.transfers()[i].what.data());
    CHECK(std::ranges::equal(copy.transfers()[i].what, moved.transfers()[i].what));
  }
}

TEST_CASE("the sink sorts by (step, from, to) and keeps the order of equals") {
  Sink sink;
  sink.add(1, 0, 1, How::copy, Range{0});
  sink.add(0, 1, 1, How::copy, Range{1});
  sink.add(2, 0, 0, How::copy, Range{2});
  sink.add(0, 1, 1, How::copy, Range{3});
  sink.sort();
  std::vector<ChunkId> order;
  for (const Transfer& t : sink.transfers())
    order.push_back(t.what.front().first);
  CHECK(order == std::vector<ChunkId>{2, 1, 3, 0});
}

} // namespace thalweg::schedule::test
