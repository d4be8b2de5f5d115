#include "algorithms/algorithm.hpp"
#include "algorithms/parameters.hpp"
#include "networks.hpp"

#include <doctest/doctest.h>
#include <random>
#include <stdexcept>

namespace {

using namespace thalweg;
using namespace thalweg::algorithms;

/// A value of any field, within its range.
template <class T>
void draw(std::mt19937& random, T& value, std::int64_t least) {
  if constexpr (units::Named<T>)
    value = static_cast<T>(random() % names_of(value).size());
  else if constexpr (std::same_as<T, Size>)
    value = static_cast<Size>(random() % 1000) << random() % 20;
  else if constexpr (std::integral<T>)
    value = static_cast<T>(least + random() % 100);
  else
    from_text("ranks 4\n2: 0 3\n3: 1\n", value);
}

Parameters random_parameters(std::uint32_t seed) {
  std::mt19937 random(seed);
  Parameters drawn;
  units::for_each_field<Parameters>([&](const auto& field) {
    if (random() % 2 == 0) draw(random, drawn.*field.member, field.least);
  });
  return drawn;
}

TEST_CASE("parameters are what their text says") {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const Parameters drawn = random_parameters(seed);
    CAPTURE(to_text(drawn));
    CHECK(parse_parameters(to_text(drawn)) == drawn);
  }
  CHECK(to_text(Parameters{}).empty());
  CHECK(to_text("packed-trees", {.segment_size = 65536, .degree = 4}) ==
        "packed-trees:segment_size=64KiB,degree=4");
}

TEST_CASE("wrong parameters are named, with what is expected") {
  const auto error_of = [](const char* text) {
    try {
      (void)parse_parameters(text);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(error_of("segment_size=8KB,degree=0") ==
        "'degree=0': expected degree=<whole number from 1>");
  CHECK(error_of("degree=3x") == "'degree=3x': expected degree=<whole number from 1>");
  CHECK(error_of("order=near") == "'order=near': expected order=closeness|rank");
  CHECK(error_of("height=2").starts_with("'height=2': expected one of segment_size=<size>, "));
  CHECK(error_of("base=1") == "'base=1': expected base=<whole number from 2>");
}

TEST_CASE("the text of every candidate builds the same skeleton") {
  const network::Network network = testing::two_sites();
  for (const collective::Kind kind : collective::kinds) {
    const Problem problem = make_problem({.kind = kind, .ranks = 12, .root = 1, .size = 300'000},
                                         network, testing::random_placement(12, 12, 3), "");
    for (const Algorithm* algorithm : all()) {
      if (!algorithm->can_do(problem.collective)) continue;
      for (const Parameters& candidate : algorithm->candidates(problem)) {
        CAPTURE(to_text(algorithm->name(), candidate));
        CHECK(make_skeleton(*algorithm, problem, parse_parameters(to_text(candidate))) ==
              make_skeleton(*algorithm, problem, candidate));
      }
    }
  }
}

} // namespace
