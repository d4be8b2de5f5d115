#include "algorithms/algorithm.hpp"
#include "algorithms/listed.hpp"
#include "algorithms/skeleton.hpp"
#include "networks.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <random>
#include <stdexcept>

namespace {

using namespace thalweg;
using namespace thalweg::algorithms;
using collective::Kind;

/// Changes a number somewhere: by a little, to one of the others', to an extreme one.
template <class T>
void corrupt(std::mt19937& random, T& value) {
  const std::int64_t replacements[] = {
      std::int64_t{value} + 1,       std::int64_t{value} - 1,      0, -1, 1, 7, 1 << 20,
      std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
  value = static_cast<T>(replacements[random() % std::size(replacements)]);
}
/// Readers refuse values that an enumeration doesn't have.
template <units::Named T>
void corrupt(std::mt19937& random, T& value) {
  value = static_cast<T>(random() % names_of(T{}).size());
}
void corrupt(std::mt19937& /*random*/, std::string& /*value*/) {}
template <class T>
void corrupt(std::mt19937& random, std::vector<T>& values) {
  switch (random() % 6) {
  case 0:
    values.push_back(values.empty() ? T{} : values[random() % values.size()]);
    return;
  case 1:
    if (!values.empty()) values.pop_back();
    return;
  case 2:
    values.clear();
    return;
  case 3:
    if (!values.empty())
      std::swap(values[random() % values.size()], values[random() % values.size()]);
    return;
  default:
    if (!values.empty()) corrupt(random, values[random() % values.size()]);
  }
}

Skeleton corrupted(std::mt19937& random, Skeleton skeleton) {
  constexpr std::size_t fields = std::tuple_size_v<decltype(Skeleton::fields())>;
  const std::size_t wrong = random() % fields;
  std::size_t at = 0;
  units::for_each_field<Skeleton>([&](const auto& field) {
    if (at++ == wrong) corrupt(random, skeleton.*field.member);
  });
  return skeleton;
}

/// Whether a damaged skeleton is refused. If it isn't, its transfers can be gone through.
bool is_refused(Kind kind, Rank ranks, const Skeleton& skeleton) {
  try {
    check(skeleton);
    if (skeleton.ranks != ranks) return true; // as those who read it see
    for (Rank rank = 0; rank < ranks; ++rank)
      (void)emit(kind, skeleton, rank);
    const schedule::Schedule whole = expand(kind, skeleton, 10'000);
    CHECK(whole.pipeline().segments >= 1);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

TEST_CASE("a damaged skeleton is refused or harmless, and a whole one isn't refused") {
  const network::Network network = testing::two_sites();
  std::mt19937 random(1);
  test::Sample sample(8);
  for (const Kind kind : collective::kinds)
    for (const Rank ranks : {2, 7, 12}) {
      const Problem problem =
          make_problem({.kind = kind, .ranks = ranks, .root = 1, .size = 300'000}, network,
                       testing::random_placement(ranks, 12, 3), "");
      std::vector<Skeleton> whole;
      for (const Algorithm* algorithm : all())
        if (algorithm->can_do(problem.collective))
          for (const Parameters& candidate : algorithm->candidates(problem))
            whole.push_back(make_skeleton(*algorithm, problem, candidate));
      whole.push_back(list(problem.collective, expand(kind, whole.front(), 300'000)));
      for (const Skeleton& skeleton : whole) {
        if (!sample.takes_next()) continue;
        CAPTURE(skeleton.algorithm);
        CAPTURE(ranks);
        CAPTURE(collective::to_text(kind));
        CHECK_FALSE(is_refused(kind, ranks, skeleton));
        int refused = 0;
        for (int trial = 0; trial < 40; ++trial)
          refused += is_refused(kind, ranks, corrupted(random, skeleton)) ? 1 : 0;
        CHECK(refused > 0);
      }
    }
}

TEST_CASE("what is wrong with a skeleton is said") {
  const network::Network network = testing::two_sites();
  const Problem problem =
      make_problem({.kind = Kind::bcast, .ranks = 4, .size = 100}, network, {0, 1, 2, 3}, "");
  const Skeleton whole = find("binomial").build(problem, {});
  const auto error_of = [&](auto damage) {
    Skeleton skeleton = whole;
    damage(skeleton);
    try {
      check(skeleton);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(error_of([](Skeleton&) {}).empty());
  CHECK(error_of([](Skeleton& s) { s.chunks = 0; }) ==
        "a skeleton is damaged: chunks is out of its range");
  CHECK(error_of([](Skeleton& s) { s.distances = {1}; }) ==
        "a skeleton is damaged: binomial has no distances");
  CHECK(error_of([](Skeleton& s) { s.order[0] = s.order[1]; }) ==
        "a skeleton is damaged: a rank is missing or twice there");
  CHECK(error_of([](Skeleton& s) { std::swap(s.order[0], s.order[3]); }) ==
        "a skeleton is damaged: a rank joins a tree before its parent");
  CHECK(error_of([](Skeleton& s) {
          s.parents[0] = {0, 1, 2, 3};
        }) == "a skeleton is damaged: parents go in a circle, or there are several roots");
}

TEST_CASE("links that are slow by more than a million steps have delays that can be read") {
  // A segment of 1 KiB takes 0.1 us, and the way to the parent 0.5 s: 5 million steps.
  const network::Network network = network::even_network(4, units::Time(0.5), units::Rate(1024e7));
  const Problem problem = make_problem(
      {.kind = Kind::allreduce, .ranks = 4, .size = 16'000'000'000}, network, {0, 1, 2, 3}, "");
  const Parameters parameters{.segment_size = 1024};
  for (const char* name : {"pipelined-chain", "packed-trees"}) {
    const Skeleton skeleton = find(name).build(problem, parameters);
    CHECK(std::ranges::max(skeleton.delays) == longest_delay);
    CHECK_NOTHROW(check(skeleton));
  }
}

} // namespace
