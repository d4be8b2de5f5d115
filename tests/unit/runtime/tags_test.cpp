#include "runtime/setup/tags.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <list>
#include <random>
#include <vector>

namespace thalweg::runtime {
namespace {

TEST_CASE("a number comes back when its last owner goes") {
  Tags tags;
  const int first = tags.propose(0);
  CHECK(first == 1);
  CHECK(tags.propose(0) == 2); // to other ranks, at the same time
  tags.withdraw(first);
  Tags::Number number = tags.claim(first);
  CHECK(tags.claim(first) == nullptr);
  Tags::Number messages = number;
  number = nullptr;
  CHECK(tags.claim(first) == nullptr);
  CHECK(tags.propose(0) == 3);
  messages = nullptr;
  CHECK(tags.propose(0) == first);
}

constexpr std::size_t ranks = 6;

struct Communicator {
  std::vector<std::size_t> members;
  std::vector<Tags::Number> numbers = {}; ///< by member
};

/// Lets the members agree once. Returns 0 if they have a number, else the one that was in use.
int agree(std::array<Tags, ranks>& tags, Communicator& of, int above) {
  std::vector<int> proposals;
  for (const std::size_t member : of.members)
    proposals.push_back(tags[member].propose(above));
  const int agreed = std::ranges::max(proposals);
  of.numbers.clear();
  for (std::size_t i = 0; i < of.members.size(); ++i) {
    tags[of.members[i]].withdraw(proposals[i]);
    of.numbers.push_back(tags[of.members[i]].claim(agreed));
  }
  if (std::ranges::count(of.numbers, nullptr) == 0) return 0;
  of.numbers.clear();
  return agreed;
}

TEST_CASE("ranks agree on numbers of their own, and soon, however many came and went") {
  constexpr int at_once = 20;
  std::mt19937 random(1);
  std::array<Tags, ranks> tags;
  std::list<Communicator> all;
  for (std::size_t made = 0; made < 5000; ++made) {
    if (all.size() == at_once)
      all.erase(std::next(all.begin(), static_cast<int>(random() % at_once)));
    Communicator& added = all.emplace_back();
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (rank == made % ranks || random() % 2 == 0) added.members.push_back(rank);
    int rounds = 1;
    for (int above = 0; const int taken = agree(tags, added, above); ++rounds)
      above = Tags::above_conflict(taken);
    CHECK(rounds < 8);
    const int number = *added.numbers.front();
    CHECK(number < 8 * at_once);
    for (const Communicator& other : all) {
      if (&other == &added || *other.numbers.front() != number) continue;
      for (const std::size_t member : other.members)
        CHECK(std::ranges::count(added.members, member) == 0);
    }
  }
}

} // namespace
} // namespace thalweg::runtime
