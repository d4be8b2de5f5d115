#include "algorithms/algorithm.hpp"
#include "runtime/execute/credit.hpp"
#include "simulated_ranks.hpp"

#include <doctest/doctest.h>
#include <type_traits>

namespace thalweg::runtime {
namespace {

using collective::Kind;

TEST_CASE("a limit has what a path holds during a round trip, and never less than two batches") {
  const CreditLimit near = CreditLimit::of_path(0, 1e12);
  CHECK(near.messages == 64);
  CHECK(near.bytes == 4 << 20);
  const CreditLimit far = CreditLimit::of_path(0.1, 1.25e9); // 10 Gbit/s, 100 ms
  CHECK(far.messages == 4096);
  CHECK(far.bytes == 250'000'000);
  CHECK(CreditLimit::of_path(250e-6, 1e9).messages == 500);
}

TEST_CASE("credit is used up by messages or bytes, and comes back in batches") {
  Credit credit(CreditLimit{.messages = 100, .bytes = 1000});
  int due = 0;
  for (int i = 0; i < 100; ++i) {
    REQUIRE(credit.may_send(1));
    due += credit.sent(1) ? 1 : 0;
  }
  CHECK(!credit.may_send(50));
  CHECK(credit.may_send(51)); // twice the window in any case
  CHECK(due == 3);
  credit.acknowledged();
  Credit other = credit;
  int more = 0;
  for (; other.may_send(1); ++more)
    other.sent(1);
  CHECK(more == 32); // 68 of 100 are outstanding
  CHECK(credit.may_send(1));
  for (int i = 0; i < 2; ++i)
    credit.sent(500);
  CHECK(!credit.may_send(1));
}

TEST_CASE("credit that nothing is due to takes no memory, as a process may have much of it") {
  static_assert(std::is_nothrow_default_constructible_v<Credit>); // else it allocates
  CHECK(sizeof(Credit) <= 72);
}

TEST_CASE("both ends see the same batches") {
  Credit credit;
  CreditReceiver receiver;
  for (int i = 0; i < 1000; ++i)
    CHECK(credit.sent(i) == receiver.posted());
}

/// One rank's part of an algorithm, with data of its own.
struct Part {
  Part(const algorithms::Skeleton& skeleton, Kind kind, Rank rank, ChunkId parts,
       std::int64_t units)
      : program(algorithms::emit(kind, skeleton, rank), rank, skeleton.pipeline(units).period,
                parts),
        data(index(units * std::max<std::int64_t>(1, std::ssize(program.blocks())))) {
    places.clear(sizeof(test::Unit));
    places.add(0, reinterpret_cast<std::byte*>(data.data()));
  }
  Program program;
  std::vector<test::Unit> data;
  Places places;
};

TEST_CASE("thousands of small segments neither deadlock nor pile up at a receiver") {
  const network::Network network = network::even_network(6, units::Time(1e-4), units::Rate(1e8));
  const network::Placement placement = {0, 1, 2, 3, 4, 5};
  for (const auto& [name, kind] : {std::pair{"pipelined-chain", Kind::bcast},
                                   {"split-binary", Kind::bcast},
                                   {"flat", Kind::bcast},
                                   {"binomial", Kind::reduce},
                                   {"chain", Kind::reduce}})
    for (const int window : {8, 128}) {
      CAPTURE(name);
      constexpr std::int64_t units = 2000;
      const collective::Collective asked{.kind = kind, .ranks = 6, .size = units};
      const auto skeleton =
          algorithms::make_skeleton(algorithms::find(name), {asked, network, placement},
                                    {.segment_size = 1, .window = window});
      const Layout whole(0, 1, skeleton.chunks, skeleton.weights, asked.blocks());
      std::vector<std::unique_ptr<Part>> ranks;
      std::vector<test::RankPart> parts;
      for (Rank rank = 0; rank < 6; ++rank) {
        ranks.push_back(std::make_unique<Part>(skeleton, kind, rank, whole.parts(), units));
        const Program& program = ranks.back()->program;
        parts.push_back({&program,
                         program.layout(skeleton.pipeline(units), skeleton.weights, units),
                         ranks.back()->places, window});
      }
      const std::size_t unexpected = test::run(parts, 1);
      CHECK(unexpected <= static_cast<std::size_t>(std::max(64, 2 * window)));
    }
}

} // namespace
} // namespace thalweg::runtime
