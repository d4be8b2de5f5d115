#include "algorithms/algorithm.hpp"
#include "networks.hpp"
#include "schedule/verify.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using collective::no_rank;
using schedule::Transfer;

/// All properties of a transfer.
using Record = std::tuple<schedule::Step, Rank, Rank, int, schedule::Reg, schedule::Reg,
                          std::vector<std::array<ChunkId, 3>>>;

std::vector<Record> emitted(const Algorithm& algorithm, Kind kind, const Skeleton& skeleton,
                            Rank rank) {
  Sink sink;
  algorithm.emit(kind, skeleton, rank, sink);
  std::vector<Record> records;
  bool own = true;
  for (const Transfer& t : sink.transfers()) {
    own = own && (rank == no_rank || t.from == rank || t.to == rank);
    std::vector<std::array<ChunkId, 3>> what;
    for (const schedule::Range& range : t.what)
      what.push_back({range.first, range.count, range.stride});
    records.emplace_back(t.step, t.from, t.to, static_cast<int>(t.how), t.src, t.dst, what);
  }
  CHECK(own);
  return records;
}

/// Checks that the ranks' own transfers are those of the whole, each at both of its ends, and that
/// all ascend by (step, from, to). With the same order in all, both ends of a pair agree on theirs.
void check_emit(const Algorithm& algorithm, Kind kind, const Skeleton& skeleton) {
  const std::vector<Record> whole = emitted(algorithm, kind, skeleton, no_rank);
  const auto key = [](const Record& r) { return std::tuple(get<0>(r), get<1>(r), get<2>(r)); };
  CHECK(std::ranges::is_sorted(whole, {}, key));
  std::vector<std::vector<Record>> expected(index(skeleton.ranks));
  for (const Record& record : whole) {
    expected[index(get<1>(record))].push_back(record);
    if (get<1>(record) != get<2>(record)) expected[index(get<2>(record))].push_back(record);
  }
  for (Rank rank = 0; rank < skeleton.ranks; ++rank)
    CHECK(emitted(algorithm, kind, skeleton, rank) == expected[index(rank)]);
}

void check(const Problem& problem, const Algorithm& algorithm, const Parameters& parameters) {
  const Kind kind = problem.collective.kind;
  CAPTURE(algorithm.name());
  CAPTURE(collective::to_text(kind));
  CAPTURE(problem.collective.ranks);
  CAPTURE(problem.collective.root);
  CAPTURE(parameters.segment_size);
  const Skeleton skeleton = algorithm.build(problem, parameters);
  CHECK(skeleton.algorithm == algorithm.name());
  CHECK(skeleton.ranks == problem.collective.ranks);
  CHECK(skeleton == algorithm.build(problem, parameters));
  CHECK_NOTHROW(
      schedule::verify(problem.collective, expand(kind, skeleton, problem.collective.size)));
  check_emit(algorithm, kind, skeleton);
}

void check_all(const Problem& problem) {
  test::Sample sample(16, static_cast<unsigned>(problem.collective.ranks));
  for (const Algorithm* algorithm : all()) {
    if (!algorithm->can_do(problem.collective)) continue;
    std::vector<Parameters> tried = algorithm->candidates(problem);
    if (tried.empty()) continue; // it must be asked for
    tried.resize(std::min<std::size_t>(tried.size(), 2));
    tried.push_back({.segment_size = 700, .degree = 3});
    tried.push_back({.order = Order::rank});
    tried.push_back({.segment_size = 500, .degree = 4, .order = Order::rank});
    tried.push_back({.senders = 3});
    tried.push_back({.senders = 2, .split = Split::early, .parts = 3});
    for (const Parameters& parameters : tried)
      if (sample.takes_next()) check(problem, *algorithm, parameters);
  }
}

using collective::kinds;

TEST_CASE("every algorithm does what its collective asks, on any network and placement") {
  std::mt19937 random(1);
  std::vector<Rank> counts = {24, 31, 33};
  for (Rank ranks = 1; ranks <= 20; ++ranks)
    counts.push_back(ranks);
  for (const Rank ranks : counts)
    for (const Kind kind : kinds) {
      const auto seed = static_cast<std::uint32_t>(random());
      const HostId hosts = 1 + static_cast<HostId>(random() % index(ranks));
      const Network network = random_network(hosts, seed);
      const Rank root =
          collective::is_rooted(kind) ? static_cast<Rank>(random() % index(ranks)) : 0;
      const Size size = Size{1} << random() % 20;
      CAPTURE(seed);
      check_all({{.kind = kind, .ranks = ranks, .root = root, .size = size},
                 network,
                 random_placement(ranks, hosts, seed)});
    }
}

TEST_CASE("every root is served") {
  const Network network = random_network(6, 5);
  for (Rank root = 0; root < 11; ++root)
    for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::gather, Kind::scatter})
      check_all({{.kind = kind, .ranks = 11, .root = root, .size = 5000},
                 network,
                 random_placement(11, 6, 2)});
}

TEST_CASE("64 ranks, the most that are verified exactly, and more") {
  for (const Rank ranks : {64, 100})
    for (const Kind kind : kinds) {
      if (kind == Kind::alltoall) continue; // ranks² blocks take too long
      check_all({{.kind = kind, .ranks = ranks, .root = 0, .size = 1 << 20},
                 two_sites(),
                 random_placement(ranks, 16, 3)});
    }
}

TEST_CASE("no data needs no segments") {
  for (const Kind kind : kinds)
    check_all({{.kind = kind, .ranks = 5, .size = 0}, two_sites(), random_placement(5, 16, 3)});
}

TEST_CASE("segments: at least one, none empty, and of countable steps") {
  Skeleton skeleton;
  CHECK(skeleton.pipeline(0).segments == 1);
  CHECK(skeleton.pipeline(1 << 30).segments == 1);
  skeleton.segment_size = 1000;
  skeleton.period = 3;
  CHECK(skeleton.pipeline(0) == schedule::Pipeline{1, 3});
  CHECK(skeleton.pipeline(1) == schedule::Pipeline{1, 3});
  CHECK(skeleton.pipeline(1000) == schedule::Pipeline{1, 3});
  CHECK(skeleton.pipeline(1001) == schedule::Pipeline{2, 3});
  CHECK(skeleton.pipeline(8'000'000) == schedule::Pipeline{8000, 3});
  skeleton.segment_size = 1;
  const schedule::Pipeline most = skeleton.pipeline(Size{1} << 50);
  CHECK(static_cast<std::int64_t>(most.segments) * most.period <= Size{1} << 30);
}

TEST_CASE("one message at a time is for whole messages of some algorithms") {
  const Network network = two_sites();
  const auto window = [&](const char* name, Kind kind, Size segment_size) {
    const Skeleton skeleton = find(name).build(
        {{.kind = kind, .ranks = 16, .size = 1 << 20}, network, random_placement(16, 16, 3)},
        {.segment_size = segment_size});
    CHECK(skeleton.pipeline(1 << 20).window == skeleton.window);
    return skeleton.window;
  };
  for (const char* name : {"binomial", "far-first", "hierarchical", "scatter-allgather"}) {
    CAPTURE(name);
    CHECK(window(name, Kind::bcast, 0) == 1);
    CHECK(window(name, Kind::bcast, 1000) == 0);
  }
  CHECK(window("two-tier", Kind::allreduce, 0) == 1);
  CHECK(window("pipelined-chain", Kind::bcast, 0) == 0);
  CHECK(window("site-scatter-allgather", Kind::bcast, 0) == 0);
}

TEST_CASE("one message at a time takes sends that end when their data have left") {
  const Network network = two_sites();
  Problem problem{
      {.kind = Kind::gather, .ranks = 16, .size = 1000}, network, one_rank_per_host(16)};
  const auto window = [&] { return make_skeleton(find("binomial"), problem, {}).window; };
  CHECK(window() == 1); // nothing is known of the MPI library
  problem.cost.eager_limit = 16'000;
  CHECK(window() == 0); // whatever a message has
  problem.cost.eager_limit = 15'999;
  CHECK(window() == 1);
  problem.cost.eager_limit = 16'000;
  CHECK(make_skeleton(find("binomial"), problem, {.window = 1}).window == 1); // asked for
}

TEST_CASE("algorithms are found by their names") {
  std::vector<std::string_view> names;
  for (const Algorithm* algorithm : all()) {
    names.push_back(algorithm->name());
    CHECK(&find(algorithm->name()) == algorithm);
    CHECK(!algorithm->source().empty());
  }
  CHECK(std::ranges::is_sorted(names));
  for (const char* name : {"flat",
                           "binomial",
                           "knomial",
                           "binary",
                           "split-binary",
                           "chain",
                           "pipelined-chain",
                           "scatter-allgather",
                           "scatter-doubling",
                           "ring",
                           "recursive-doubling",
                           "recursive-halving",
                           "rabenseifner",
                           "bruck",
                           "pairwise",
                           "linear",
                           "linear-sync",
                           "slowest-first",
                           "neighbor-exchange",
                           "dissemination",
                           "double-ring",
                           "linear-scan",
                           "recursive-doubling-scan",
                           "binary-scan"})
    CHECK(std::ranges::count(names, name) == 1);
  CHECK_THROWS_WITH_AS(find("bionmial"), doctest::Contains("\"bionmial\""), std::invalid_argument);
  CHECK_THROWS_WITH_AS(find(""), doctest::Contains("pipelined-chain"), std::invalid_argument);
}

/// Returns the bytes that each rank sends, in chunks of one segment.
std::map<Rank, ChunkId> chunks_sent(Kind kind, const Skeleton& skeleton) {
  const schedule::Schedule schedule = expand(kind, skeleton, 1 << 20);
  std::map<Rank, ChunkId> sent;
  for (const Transfer& t : schedule.transfers())
    for (const schedule::Range& range : t.what)
      sent[t.from] += range.count;
  return sent;
}

TEST_CASE("ring and Rabenseifner send 2 (p - 1) / p of the data from each rank") {
  const Network network = two_sites();
  for (const Rank ranks : {2, 4, 8, 16})
    for (const char* name : {"ring", "rabenseifner"}) {
      Placement placement;
      for (Rank rank = 0; rank < ranks; ++rank)
        placement.push_back(rank);
      const Skeleton skeleton = find(name).build(
          {{.kind = Kind::allreduce, .ranks = ranks, .size = 1 << 20}, network, placement}, {});
      for (const auto& [rank, chunks] : chunks_sent(Kind::allreduce, skeleton))
        CHECK(chunks == 2 * (ranks - 1) * skeleton.chunks / ranks);
    }
}

TEST_CASE("slowest-first: a message in and out per rank and round, those of the slow link first") {
  Network net = network::even_network(7, units::Time(1e-4), units::Rate(1e8));
  net.bandwidth.set(2, 6, units::Rate(1e6));
  for (const Kind kind : {Kind::alltoall, Kind::allgather}) {
    const Problem problem{.collective = {.kind = kind, .ranks = 7, .size = 100'000},
                          .network = net,
                          .placement = one_rank_per_host(7),
                          .cost = {}};
    const Algorithm& algorithm = find("slowest-first");
    const Skeleton skeleton = algorithm.build(problem, algorithm.candidates(problem).front());
    CHECK(skeleton.segment_size < problem.cost.eager_limit);
    const schedule::Schedule schedule = expand(kind, skeleton, 100'000);
    std::map<schedule::Step, std::pair<std::set<Rank>, std::set<Rank>>> ends;
    for (const Transfer& t : schedule.transfers()) {
      CHECK(ends[t.step].first.insert(t.from).second);
      CHECK(ends[t.step].second.insert(t.to).second);
      if (t.from == 2 && t.to == 6) CHECK(t.step == 0);
    }
    CHECK(ends.size() == 6);
    for (const auto& [step, ranks] : ends)
      CHECK(ranks.first.size() + ranks.second.size() == 14);
  }
}

TEST_CASE("CMPI's leaders reach the others best in the direction of the data; the root leads") {
  // M = [[0,1,1],[4,0,1],[4,1,0]], as transfer times without content: leader 0 for bcast, 1 for
  // reduce if nobody is the root.
  Network net = network::even_network(4, units::Time(1), units::Rate(1e9));
  net.latency.set(1, 0, units::Time(300));
  net.latency.set(2, 0, units::Time(300));
  for (HostId host = 0; host < 3; ++host) { // another site, where the root is
    net.latency.set(host, 3, units::Time(2e6));
    net.latency.set(3, host, units::Time(2e6));
  }
  const auto parent_of_first = [&](Kind kind) {
    const Skeleton skeleton =
        find("hierarchical")
            .build({{.kind = kind, .ranks = 4, .root = 3, .size = 1}, net, one_rank_per_host(4)},
                   {});
    std::vector<Rank> under_root;
    for (Rank rank = 0; rank < 4; ++rank)
      if (skeleton.parents.front()[index(rank)] == 3) under_root.push_back(rank);
    return under_root;
  };
  CHECK(parent_of_first(Kind::bcast) == std::vector<Rank>{0});
  CHECK(parent_of_first(Kind::reduce) == std::vector<Rank>{1});
}

TEST_CASE("a chain loads each rank's port with the data once, or twice for allreduce") {
  Placement placement;
  for (Rank rank = 0; rank < 16; ++rank)
    placement.push_back(rank);
  const Network network = two_sites();
  for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::allreduce}) {
    const Skeleton skeleton =
        find("pipelined-chain")
            .build({{.kind = kind, .ranks = 16, .root = 3, .size = 1 << 20}, network, placement},
                   {.segment_size = 16384});
    for (const auto& [rank, chunks] : chunks_sent(kind, skeleton))
      CHECK(chunks <= (kind == Kind::allreduce ? 2 : 1));
  }
}

TEST_CASE("steps of a long chain are representable, however long its links take") {
  constexpr Rank ranks = 4500;
  const Network network = network::even_network(ranks, Time(1e-6), Rate::infinity());
  Placement placement;
  for (Rank rank = 0; rank < ranks; ++rank)
    placement.push_back(rank);
  const Problem problem{
      {.kind = Kind::allreduce, .ranks = ranks, .size = 1 << 30}, network, placement};
  const Skeleton skeleton = find("pipelined-chain").build(problem, {.segment_size = 1024});
  schedule::Step last = 0;
  for (const Transfer& t : emit(Kind::allreduce, skeleton, no_rank).transfers()) {
    CHECK(t.step >= 0);
    last = std::max(last, t.step);
  }
  CHECK(last <= schedule::last_step);
}

TEST_CASE("a short message reaches nobody later by the earliest tree than from the root itself") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Network network = random_network(12, seed);
    Placement placement;
    for (Rank rank = 0; rank < 12; ++rank)
      placement.push_back(rank);
    const Skeleton skeleton =
        find("earliest-tree")
            .build({{.kind = Kind::bcast, .ranks = 12, .root = 4, .size = 1}, network, placement},
                   {});
    for (Rank rank = 0; rank < 12; ++rank) {
      double latency = 0;
      for (Rank at = rank; at != 4; at = skeleton.parents.front()[index(at)])
        latency += network.latency(skeleton.parents.front()[index(at)], at).value();
      // At worst the root serves all others before: a byte at 1 MB/s and a microsecond each.
      CHECK(latency <= network.latency(4, rank).value() + 11 * 2e-6);
    }
  }
}

TEST_CASE("candidates are few, cut the data, and leave room for an envelope") {
  const Network network = two_sites();
  for (const Size size : {Size{0}, Size{1000}, Size{64'000}, Size{8'000'000}, Size{1} << 40}) {
    const Problem problem{.collective = {.kind = Kind::bcast, .ranks = 16, .size = size},
                          .network = network,
                          .placement = random_placement(16, 16, 3),
                          .cost = {}};
    for (const Algorithm* algorithm : all()) {
      const std::vector<Parameters> candidates = algorithm->candidates(problem);
      CHECK(candidates.size() <= 9);
      for (const Parameters& parameters : candidates) {
        CHECK((parameters.segment_size == 0 || parameters.segment_size < size));
        if (algorithm->name() == "pipelined-chain")
          CHECK(parameters.segment_size != problem.cost.eager_limit);
      }
    }
  }
}

TEST_CASE("trees and rings cross between two sites once in each direction") {
  Placement placement;
  for (Rank rank = 0; rank < 16; ++rank)
    placement.push_back(rank);
  const Network network = two_sites();
  for (const char* name : {"binomial", "pipelined-chain", "ring"}) {
    CAPTURE(name);
    const Skeleton skeleton = find(name).build(
        {{.kind = Kind::allreduce, .ranks = 16, .size = 1 << 20}, network, placement}, {});
    std::set<std::pair<Rank, Rank>> crossings;
    const schedule::Schedule schedule = expand(Kind::allreduce, skeleton, 1 << 20);
    for (const Transfer& t : schedule.transfers())
      if (t.from % 2 != t.to % 2) crossings.emplace(t.from, t.to);
    CHECK(crossings.size() == 2);
  }
}

} // namespace
} // namespace thalweg::algorithms
