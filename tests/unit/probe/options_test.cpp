#include "probe/options.hpp"

#include <doctest/doctest.h>
#include <stdexcept>

using namespace thalweg::probe;

namespace {

ProbeOptions of(std::vector<const char*> arguments, const char* dilation = nullptr) {
  return parse(arguments, dilation);
}

} // namespace

TEST_CASE("defaults, and the lab's dilation") {
  CHECK_FALSE(of({}).budget_is_set);
  CHECK(of({}).dilation == 1);
  CHECK(of({}, "4").dilation == 4);
  CHECK(of({"--dilation", "8"}, "4").dilation == 8);
}

TEST_CASE("values") {
  const auto options =
      of({"--budget", "90s", "--patience", "500ms", "--output", "net.json", "--base", "old.json",
          "--hosts", "a,b.c,d", "--events", "--one-machine"});
  CHECK(options.budget.value() == 90);
  CHECK(options.budget_is_set);
  CHECK(options.patience.value() == 0.5);
  CHECK(options.output == "net.json");
  CHECK(options.base == "old.json");
  CHECK(options.hosts == std::vector<std::string>{"a", "b.c", "d"});
  CHECK(options.events);
  CHECK(options.one_machine);
}

TEST_CASE("what isn't understood is named") {
  CHECK_THROWS_WITH(of({"--dilution", "3"}), doctest::Contains("--dilution"));
  CHECK_THROWS_WITH(of({"--budget"}), doctest::Contains("--budget needs a value"));
  CHECK_THROWS_WITH(of({"--budget", "soon"}), doctest::Contains("soon"));
  for (const char* bad : {"0.5", "nan", "4x", "", "inf"})
    CHECK_THROWS_AS(of({"--dilation", bad}), std::invalid_argument);
}

TEST_CASE("pairs are two different ranks each, of a network") {
  const auto pairs = of({"--base", "net.json", "--pairs", "0-1,12-3,0-1"}).pairs;
  CHECK(pairs == std::vector<Flow>{{0, 1}, {12, 3}});
  CHECK_THROWS_WITH(of({"--pairs", "0-1"}), doctest::Contains("--base"));
  for (const char* bad :
       {"0", "0-", "-1", "1-1", "0-1-2", "a-b", "0--1", "99999999999-1", "0-1,,1-2"})
    CHECK_THROWS_WITH(of({"--base", "net.json", "--pairs", bad}), doctest::Contains("two ranks"));
}
