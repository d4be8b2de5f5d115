#include "probe/journal.hpp"

#include <doctest/doctest.h>
#include <sstream>

using thalweg::probe::Journal;
using thalweg::probe::Step;

namespace {

const Step first{"latency", {1, 2}, 10, {{3, 4}, {}}}, second{"capacities", {}, 20, {{-5}}};

Journal journal(const std::string& rest) {
  std::istringstream lines(to_text(first) + "\n" + to_text(second) + "\n" + rest);
  return Journal(lines);
}

} // namespace

TEST_CASE("steps come back in order, as they were written") {
  auto steps = journal("");
  for (const auto& step : {first, second}) {
    const auto found = steps.find(step.what, step.key);
    REQUIRE(found);
    CHECK(found->spent == step.spent);
    CHECK(found->replies == step.replies);
  }
  CHECK(!steps.find("latency", {1, 2}));
}

TEST_CASE("a step that differs ends what can be resumed") {
  auto steps = journal("");
  CHECK(!steps.find("latency", {1, 3}));
  CHECK(!steps.find("latency", {1, 2}));
}

TEST_CASE("a line cut short is left out, and so is what follows it") {
  CHECK(journal(to_text(first).substr(0, 20) + "\n" + to_text(second)).size() == 2);
  std::istringstream headed("{\"hosts\": []}\n" + to_text(first) + "\n");
  CHECK(Journal(headed).size() == 1); // but for the head of the file
  CHECK(journal("{}\n").size() == 2);
  CHECK(journal("[1, 2]\n").size() == 2);
  CHECK(journal(std::string(100'000, '[') + "\n").size() == 2);
}

TEST_CASE("an empty journal knows nothing") { CHECK(!Journal().find("latency", {})); }
