#include "algorithms/ranges.hpp"
#include "algorithms/rounds/rounds.hpp"
#include "networks.hpp"
#include "schedule/verify.hpp"

#include <algorithm>
#include <bit>
#include <doctest/doctest.h>
#include <map>
#include <numeric>
#include <stdexcept>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using collective::no_rank;
using schedule::Range;
using schedule::Transfer;

std::vector<ChunkId> chunks_of(std::span<const Range> ranges) {
  std::vector<ChunkId> chunks;
  for (const Range& range : ranges)
    for (ChunkId i = 0; i < range.count; ++i)
      chunks.push_back(range.first + i * range.stride);
  return chunks;
}

/// Returns the fewest ranges that these chunks can be cut into, each from one chunk to another.
std::size_t fewest_ranges(const std::vector<ChunkId>& chunks) {
  std::vector<std::size_t> fewest(chunks.size() + 1, 0); // of those from there on
  for (std::size_t begin = chunks.size(); begin-- > 0;) {
    fewest[begin] = 1 + fewest[begin + 1];
    for (std::size_t end = begin + 2; end <= chunks.size(); ++end) {
      if (end > begin + 2 && chunks[end - 1] - chunks[end - 2] != chunks[begin + 1] - chunks[begin])
        break;
      fewest[begin] = std::min(fewest[begin], 1 + fewest[end]);
    }
  }
  return fewest.front();
}

TEST_CASE("chunks become as few ranges as can be") {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::vector<ChunkId> chunks;
    for (ChunkId chunk = 0; chunk < 20; ++chunk)
      if (random() % 3 > 0) chunks.push_back(chunk);
    const std::vector<Range> ranges = to_ranges(chunks);
    CHECK(chunks_of(ranges) == chunks);
    CHECK(ranges.size() == fewest_ranges(chunks));
  }
  CHECK(to_ranges(std::vector<ChunkId>{0, 5, 6, 7}) == std::vector<Range>{{0, 1, 1}, {5, 3, 1}});
  CHECK(around(3, 4, 5) == std::vector<Range>{{3, 2, 1}, {0, 2, 1}});
  CHECK(around(3, 2, 5) == std::vector<Range>{{3, 2, 1}});
}

TEST_CASE("the lowest of a stretch of a circle") {
  std::mt19937 random(2);
  for (const Rank ranks : {1, 2, 3, 7, 8, 13}) {
    std::vector<Rank> order(index(ranks));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    const Circle circle(Kind::allreduce, order);
    for (Rank first = -ranks; first < ranks; ++first)
      for (Rank count = 1; count <= ranks; ++count) {
        Rank lowest = circle.at(first);
        for (Rank i = 1; i < count; ++i)
          lowest = std::min(lowest, circle.at(first + i));
        CHECK(circle.lowest(first, count) == lowest);
      }
  }
}

/// Returns an algorithm's schedule in rank order on equal hosts.
schedule::Schedule by_rank(const char* name, const Collective& collective,
                           Parameters parameters = {}) {
  parameters.order = Order::rank;
  const Network network =
      network::even_network(collective.ranks, units::Time(1e-4), units::Rate(1e8));
  const Skeleton skeleton =
      find(name).build({collective, network, one_rank_per_host(collective.ranks)}, parameters);
  return expand(collective.kind, skeleton, collective.size);
}

struct Traffic {
  std::map<Rank, int> messages, chunks; ///< by sender
  int rounds = 0;
  std::size_t most_ranges = 0;
};

Traffic traffic(const schedule::Schedule& schedule) {
  Traffic traffic;
  for (const Transfer& t : schedule.transfers()) {
    traffic.rounds = std::max(traffic.rounds, t.step + 1);
    traffic.most_ranges = std::max(traffic.most_ranges, t.what.size());
    if (t.from == t.to) continue;
    ++traffic.messages[t.from];
    traffic.chunks[t.from] += static_cast<int>(chunks_of(t.what).size());
  }
  return traffic;
}

TEST_CASE("everybody sends as often, and as much, as the algorithm's authors say") {
  for (const Rank ranks : {2, 4, 5, 8, 12, 13, 16}) {
    CAPTURE(ranks);
    const int log = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    const Collective allgather{.kind = Kind::allgather, .ranks = ranks};
    const Collective alltoall{.kind = Kind::alltoall, .ranks = ranks};
    const Collective reduce_scatter{.kind = Kind::reduce_scatter, .ranks = ranks};
    const bool power = std::has_single_bit(static_cast<unsigned>(ranks));
    struct Case {
      const char* name;
      Collective collective;
      int messages, chunks; // of each rank
      bool is_for_all = true;
    };
    int moved = 0; // by Bruck's alltoall: a block d on moves as often as d has bits
    for (Rank distance = 1; distance < ranks; ++distance)
      moved += std::popcount(static_cast<unsigned>(distance));
    for (const Case& c :
         {Case{"ring", allgather, ranks - 1, ranks - 1},
          Case{"ring", reduce_scatter, ranks - 1, ranks - 1},
          Case{"bruck", allgather, log, ranks - 1},
          Case{"recursive-doubling-allgather", allgather, log, ranks - 1, power},
          Case{"neighbor-exchange", allgather, ranks / 2, ranks - 1, ranks % 2 == 0},
          Case{"recursive-halving", reduce_scatter, log, ranks - 1, power},
          Case{"butterfly", reduce_scatter, log, ranks - 1, power},
          Case{"pairwise", reduce_scatter, ranks - 1, ranks - 1},
          Case{"pairwise", alltoall, ranks - 1, ranks - 1},
          Case{"linear", alltoall, ranks - 1, ranks - 1},
          Case{"linear-sync", alltoall, ranks - 1, ranks - 1},
          Case{"exchange", alltoall, ranks - 1, ranks - 1}, Case{"bruck", alltoall, log, moved},
          Case{"dissemination", {.kind = Kind::barrier, .ranks = ranks}, log, log},
          Case{"recursive-doubling", {.kind = Kind::barrier, .ranks = ranks}, log, log, power}}) {
      if (!c.is_for_all) continue;
      CAPTURE(c.name);
      const Traffic sent = traffic(by_rank(c.name, c.collective));
      for (Rank rank = 0; rank < ranks; ++rank) {
        CHECK(sent.messages.at(rank) == c.messages);
        CHECK(sent.chunks.at(rank) == c.chunks);
      }
    }
  }
}

TEST_CASE("recursive doubling of any number of ranks takes at most twice the rounds") {
  for (Rank ranks = 2; ranks <= 70; ++ranks) {
    const int log = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    std::map<Rank, int> received;
    const schedule::Schedule schedule =
        by_rank("recursive-doubling-allgather", {.kind = Kind::allgather, .ranks = ranks});
    for (const Transfer& t : schedule.transfers())
      ++received[t.to];
    for (const auto& [rank, messages] : received)
      CHECK(messages <= log); // MPICH: 2 log p rounds at most, of which a rank is in log p
  }
}

TEST_CASE("by rank, a binomial gather's and scatter's messages are stretches") {
  for (const Rank ranks : {2, 5, 8, 13})
    for (const Kind kind : {Kind::gather, Kind::scatter}) {
      const Traffic sent = traffic(by_rank("binomial", {.kind = kind, .ranks = ranks}));
      CHECK(sent.most_ranges == 1);
      // Each block crosses as many links as its rank has bits set: the distances add up to it.
      int crossings = 0;
      for (Rank rank = 1; rank < ranks; ++rank)
        crossings += std::popcount(static_cast<unsigned>(rank));
      int chunks = 0;
      for (const auto& [rank, count] : sent.chunks)
        chunks += count;
      CHECK(chunks == crossings);
    }
}

TEST_CASE("a node of a scatter serves its largest subtree first, of a gather waits for it last") {
  for (const char* name : {"binomial", "knomial", "binary", "earliest-tree", "hierarchical"})
    for (std::uint32_t seed = 0; seed < 10; ++seed)
      for (const Kind kind : {Kind::scatter, Kind::gather}) {
        CAPTURE(name);
        const Network network = random_network(9, seed);
        const Skeleton skeleton =
            find(name).build({{.kind = kind, .ranks = 14, .root = 5, .size = 1000},
                              network,
                              random_placement(14, 9, seed)},
                             {.degree = 4});
        const schedule::Schedule schedule = expand(kind, skeleton, 1000);
        std::map<Rank, std::size_t> last; // blocks of a node's last message
        for (const Transfer& t : schedule.transfers()) {
          const std::size_t blocks = chunks_of(t.what).size();
          const Rank node = kind == Kind::scatter ? t.from : t.to;
          if (last.contains(node))
            CHECK((kind == Kind::scatter ? blocks <= last[node] : blocks >= last[node]));
          last[node] = blocks;
        }
      }
}

TEST_CASE("an allgather along a tree sends nobody what it has") {
  const schedule::Schedule schedule = by_rank("binary", {.kind = Kind::allgather, .ranks = 13});
  std::map<Rank, int> received;
  for (const Transfer& t : schedule.transfers())
    received[t.to] += static_cast<int>(chunks_of(t.what).size());
  for (Rank rank = 0; rank < 13; ++rank)
    CHECK(received[rank] == 12);
}

TEST_CASE("trees have the degrees that were asked for") {
  const auto children = [](const char* name, Rank ranks, std::int32_t degree) {
    const Network network = network::even_network(ranks, units::Time(1e-4), units::Rate(1e8));
    const Skeleton skeleton =
        find(name).build({{.ranks = ranks, .root = 2}, network, one_rank_per_host(ranks)},
                         {.degree = degree, .order = Order::rank});
    std::vector<int> count(index(ranks));
    for (const Rank parent : skeleton.parents.front())
      if (parent != no_rank) ++count[index(parent)];
    return count;
  };
  for (const std::int32_t degree : {1, 2, 3, 5}) {
    CHECK(std::ranges::max(children("binary", 20, degree)) == degree);
    const std::vector<int> chain = children("chain", 20, degree);
    CHECK(chain[2] == degree);
    CHECK(std::ranges::count(chain, 0) == degree);
  }
  for (const std::int32_t degree : {2, 3, 4}) // rounds times degree - 1
    CHECK(children("knomial", degree * degree * degree, degree)[2] == 3 * (degree - 1));
}

TEST_CASE("a split binary tree moves half of the data along each link") {
  for (const Rank ranks : {2, 3, 6, 7, 13}) {
    const schedule::Schedule schedule = by_rank("split-binary", {.ranks = ranks, .root = 1});
    std::map<Rank, int> received;
    for (const Transfer& t : schedule.transfers()) {
      CHECK(chunks_of(t.what).size() == 1);
      ++received[t.to];
    }
    for (Rank rank = 0; rank < ranks; ++rank)
      CHECK(received[rank] == (rank == 1 ? 0 : 2));
  }
}

TEST_CASE("a mesh of ranks sends along rows, then along columns") {
  const Rank rows = 4, columns = 3; // as square as 12 can be
  for (const Kind kind : {Kind::allgather, Kind::alltoall}) {
    const schedule::Schedule schedule = by_rank("mesh", {.kind = kind, .ranks = rows * columns});
    std::map<Rank, int> messages;
    for (const Transfer& t : schedule.transfers()) {
      ++messages[t.from];
      const bool along_row = t.step < columns - 1;
      CHECK((along_row ? t.from / columns == t.to / columns : t.from % columns == t.to % columns));
      const std::size_t row = kind == Kind::allgather ? 1 : rows;
      CHECK(chunks_of(t.what).size() == (along_row ? row : columns));
    }
    for (const auto& [rank, count] : messages)
      CHECK(count == rows - 1 + columns - 1);
  }
}

TEST_CASE("in place, and for odd numbers, only those that can do it say so") {
  const auto names = [](const Collective& collective) {
    std::vector<std::string_view> names;
    for (const Algorithm* algorithm : all())
      if (algorithm->can_do(collective)) names.push_back(algorithm->name());
    return names;
  };
  const auto contains = [](const std::vector<std::string_view>& list, std::string_view name) {
    return std::ranges::find(list, name) != list.end();
  };
  CHECK(contains(names({.kind = Kind::allgather, .ranks = 8}), "neighbor-exchange"));
  CHECK(!contains(names({.kind = Kind::allgather, .ranks = 9}), "neighbor-exchange"));
  CHECK(contains(names({.kind = Kind::allgather, .ranks = 9}), "mesh"));
  CHECK(!contains(names({.kind = Kind::allgather, .ranks = 7}), "mesh"));
  const Collective in_place{.kind = Kind::alltoall, .ranks = 8, .in_place = true};
  CHECK(contains(names(in_place), "exchange"));
  CHECK(!contains(names(in_place), "pairwise"));
  for (Rank ranks = 1; ranks <= 17; ++ranks)
    for (const Order order : {Order::rank, Order::closeness}) {
      const Network network = random_network(5, static_cast<std::uint32_t>(ranks));
      const Collective collective{
          .kind = Kind::alltoall, .ranks = ranks, .size = 100, .in_place = true};
      const Problem problem{collective, network, random_placement(ranks, 5, 3)};
      for (const Algorithm* algorithm : all())
        if (algorithm->can_do(collective))
          CHECK_NOTHROW(schedule::verify(
              collective,
              expand(Kind::alltoall, algorithm->build(problem, {.order = order}), 100)));
    }
}

TEST_CASE("by rank, halving and the butterfly send stretches or to neighbours first") {
  const auto first_distance = [](const char* name) {
    const schedule::Schedule schedule = by_rank(name, {.kind = Kind::reduce_scatter, .ranks = 16});
    return std::abs(schedule.transfers().front().from - schedule.transfers().front().to);
  };
  CHECK(first_distance("recursive-halving") == 8);
  CHECK(first_distance("butterfly") == 1);
  CHECK(traffic(by_rank("recursive-halving", {.kind = Kind::reduce_scatter, .ranks = 16}))
            .most_ranges == 1);
}

TEST_CASE("Rabenseifner's reduce brings the root the data once, wherever it is") {
  for (const Rank ranks : {2, 3, 5, 8, 13})
    for (Rank root = 0; root < ranks; ++root) {
      const schedule::Schedule schedule =
          by_rank("rabenseifner", {.kind = Kind::reduce, .ranks = ranks, .root = root});
      int chunks = 0; // final ones
      for (const Transfer& t : schedule.transfers())
        if (t.to == root && t.how == schedule::How::copy)
          chunks += static_cast<int>(chunks_of(t.what).size());
      CHECK(chunks == schedule.chunks() - 1);
    }
}

TEST_CASE("as many messages are in flight as asked for, or those of a round") {
  const Network network = two_sites();
  const auto window = [&](const char* name, Kind kind, const Parameters& parameters) {
    return find(name)
        .build({{.kind = kind, .ranks = 16, .size = 5000}, network, one_rank_per_host(16)},
               parameters)
        .window;
  };
  CHECK(window("linear-sync", Kind::alltoall, {.degree = 4}) == 4);
  CHECK(window("linear", Kind::alltoall, {.degree = 4}) == 0);
  CHECK(window("pairwise", Kind::alltoall, {}) == 2);
  CHECK(window("exchange", Kind::alltoall, {}) == 2);
  CHECK(window("pairwise", Kind::alltoall, {.segment_size = 100}) == 0);
}

} // namespace
/// A rank sends its blocks itself and gets the blocks for it, whatever else passes through it.
TEST_CASE("an alltoall of very many ranks moves blocks that exist") {
  const Network network = network::even_network(1, Time(0), Rate(1e9));
  for (const Rank ranks : {50'000, 100'000}) {
    const Problem problem{
        {.kind = Kind::alltoall, .ranks = ranks, .size = 8}, network, Placement(index(ranks), 0)};
    const ChunkId blocks = problem.collective.blocks();
    for (const Algorithm* algorithm : all()) {
      if (!algorithm->can_do(problem.collective)) continue;
      CAPTURE(algorithm->name());
      const Skeleton skeleton = algorithm->build(problem, {.order = Order::rank});
      REQUIRE(skeleton.chunks == blocks);
      const Rank rank = ranks - 3;
      Sink sink;
      algorithm->emit(Kind::alltoall, skeleton, rank, sink);
      std::vector<bool> served(index(ranks)), heard(index(ranks));
      bool exist = true;
      for (const Transfer& transfer : sink.transfers())
        for (const Range& range : transfer.what)
          for (ChunkId i = 0; i < range.count; ++i) {
            const ChunkId block = range.first + i * range.stride;
            exist = exist && block >= 0 && block < blocks;
            if (transfer.from == rank && block / ranks == rank)
              served[static_cast<std::size_t>(block % ranks)] = true;
            if (transfer.to == rank && block % ranks == rank)
              heard[static_cast<std::size_t>(block / ranks)] = true;
          }
      CHECK(exist);
      CHECK(std::ranges::count(served, true) == ranks - 1);
      CHECK(std::ranges::count(heard, true) == ranks - 1);
    }
  }
}

} // namespace thalweg::algorithms
