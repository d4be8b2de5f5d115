#include "dataflow.hpp"
#include "schedule/verify.hpp"
#include "toys.hpp"

#include <doctest/doctest.h>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

namespace thalweg::schedule::test {
namespace {

/// Empty if the toy passes.
std::string verdict(const Toy& toy) {
  try {
    verify(toy.collective, to_schedule(toy));
    return {};
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

Step last_step_of(const Toy& toy) {
  Step last = 0;
  for (const Message& m : toy.messages)
    last = std::max(last, m.step);
  return last;
}

std::string describe(const Toy& toy, const Message& m) {
  return toy.name + ": step " + std::to_string(m.step) + ", " + std::to_string(m.from) + " -> " +
         std::to_string(m.to) + ", register " + std::to_string(m.src) + " to " +
         std::to_string(m.dst);
}

/// Whether in a barrier, replayed literally, all hear of all and each message brings news.
bool all_hear_news(Toy barrier) {
  std::ranges::stable_sort(barrier.messages, {},
                           [](const Message& m) { return std::tuple(m.step, m.from); });
  std::map<Rank, std::set<Rank>> known, before;
  for (Rank r = 0; r < barrier.collective.ranks; ++r)
    known[r] = {r};
  Step step = -1;
  for (const Message& m : barrier.messages) {
    if (m.step != step) before = known;
    step = m.step;
    const std::size_t size = known[m.to].size();
    known[m.to].insert(before[m.from].begin(), before[m.from].end());
    if (known[m.to].size() == size) return false;
  }
  return std::ranges::all_of(
      known, [&](const auto& entry) { return entry.second.size() == known.size(); });
}

Toy without(Toy toy, std::size_t message) {
  toy.messages.erase(toy.messages.begin() + static_cast<std::ptrdiff_t>(message));
  return toy;
}

} // namespace

TEST_CASE("hand-made schedules pass") {
  for (const Toy& toy : all_toys()) {
    CAPTURE(toy.name);
    CHECK(verdict(toy) == "");
  }
}

TEST_CASE("a dropped transfer is rejected") {
  for (const Toy& toy : all_toys())
    for (std::size_t i = 0; i < toy.messages.size(); ++i) {
      CAPTURE(describe(toy, toy.messages[i]));
      CHECK(verdict(without(toy, i)) != "");
    }
}

TEST_CASE("a transfer without one of its ranges is rejected") {
  for (const Toy& toy : all_toys())
    for (std::size_t i = 0; i < toy.messages.size(); ++i)
      for (std::size_t range = 0; range < toy.messages[i].what.size(); ++range) {
        CAPTURE(describe(toy, toy.messages[i]));
        Toy mutant = toy;
        auto& what = mutant.messages[i].what;
        if (--what[range].count == 0) what.erase(what.begin() + static_cast<std::ptrdiff_t>(range));
        CHECK(verdict(mutant) != "");
      }
}

TEST_CASE("a doubled transfer is rejected, whatever the step of its double") {
  for (const Toy& toy : all_toys())
    for (const Message& message : toy.messages)
      for (Step step = 0; step <= last_step_of(toy) + 1; ++step) {
        CAPTURE(describe(toy, message));
        CAPTURE(step);
        Toy mutant = toy;
        mutant.messages.push_back(message);
        mutant.messages.back().step = step;
        CHECK(verdict(mutant) != "");
      }
}

TEST_CASE("a transfer moved to another step is rejected, unless all data still flow alike") {
  for (const Toy& toy : all_toys()) {
    const auto original = dataflow(toy);
    REQUIRE(original);
    int rejected = 0;
    for (std::size_t i = 0; i < toy.messages.size(); ++i)
      for (Step step = 0; step <= last_step_of(toy) + 1; ++step) {
        CAPTURE(describe(toy, toy.messages[i]));
        CAPTURE(step);
        Toy mutant = toy;
        mutant.messages[i].step = step;
        const std::string error = verdict(mutant);
        CAPTURE(error);
        CHECK((error == "") == (dataflow(mutant) == original));
        if (error != "") ++rejected;
      }
    CAPTURE(toy.name);
    CHECK(rejected > 0);
  }
}

TEST_CASE("a barrier passes, also above 64 ranks, and none of its transfers may be dropped") {
  for (const Rank ranks : {2, 5, 8, 64, 65, 130}) {
    const Toy toy = dissemination_barrier(ranks);
    CAPTURE(toy.name);
    CHECK(verdict(toy) == "");
    // Larger ones by samples: each replay visits all transfers.
    for (std::size_t i = 0; i<toy.messages.size(); i += ranks> 8 ? 37 : 1) {
      CAPTURE(describe(toy, toy.messages[i]));
      CHECK(verdict(without(toy, i)) != "");
    }
  }
}

TEST_CASE("in a barrier a transfer may move if all ranks still hear news of all") {
  for (const Rank ranks : {5, 8}) {
    const Toy toy = dissemination_barrier(ranks);
    for (std::size_t i = 0; i < toy.messages.size(); ++i)
      for (Step step = 0; step <= last_step_of(toy) + 1; ++step) {
        CAPTURE(describe(toy, toy.messages[i]));
        CAPTURE(step);
        Toy mutant = toy;
        mutant.messages[i].step = step;
        CHECK((verdict(mutant) == "") == all_hear_news(mutant));
      }
  }
}

TEST_CASE("a doubled transfer of a barrier is rejected if it brings nothing new") {
  for (const Rank ranks : {5, 8}) {
    const Toy toy = dissemination_barrier(ranks);
    for (const Message& message : toy.messages) {
      CAPTURE(describe(toy, message));
      Toy mutant = toy;
      mutant.messages.push_back(message);
      CHECK(verdict(mutant).find("is redundant") != std::string::npos);
      mutant.messages.back().step = last_step_of(toy) + 1; // all know all by then
      CHECK(verdict(mutant).find("is redundant") != std::string::npos);
    }
  }
}

TEST_CASE("above 64 ranks sums of weights find dropped and doubled transfers too") {
  for (const Toy& toy : {binomial_reduce(100), recursive_doubling_allreduce(70, 1),
                         bruck_allgather(66), scan_by_doubling(66), ring_reduce_scatter(65)}) {
    CAPTURE(toy.name);
    CHECK(verdict(toy) == "");
    for (std::size_t i = 0; i < toy.messages.size(); i += 41) {
      CAPTURE(describe(toy, toy.messages[i]));
      CHECK(verdict(without(toy, i)) != "");
      Toy mutant = toy;
      mutant.messages.push_back(toy.messages[i]);
      CHECK(verdict(mutant) != "");
      mutant.messages.back().step = last_step_of(toy) + 1;
      CHECK(verdict(mutant) != "");
    }
  }
}

} // namespace thalweg::schedule::test
