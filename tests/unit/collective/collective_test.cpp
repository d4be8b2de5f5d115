#include "collective/collective.hpp"

#include <doctest/doctest.h>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace thalweg::collective {
namespace {

/// The ranks r for which f(r).
template <class F>
std::set<Rank> ranks_that(const Collective& c, F f) {
  std::set<Rank> result;
  for (Rank r = 0; r < c.ranks; ++r)
    if (f(r)) result.insert(r);
  return result;
}
std::set<Rank> before(const Collective& c, ChunkId block) {
  return ranks_that(c, [&](Rank r) { return c.before(r, block); });
}
std::set<Rank> after(const Collective& c, ChunkId block) {
  return ranks_that(c, [&](Rank r) { return c.after(r, block); });
}
std::set<Rank> contributors(const Collective& c, Rank rank, ChunkId block) {
  return ranks_that(c, [&](Rank r) { return c.contributes(r, rank, block); });
}

const std::set<Rank> all{0, 1, 2};

} // namespace

TEST_CASE("names are parsed as they are printed") {
  for (const Kind kind : kinds)
    CHECK(parse_kind(to_text(kind)) == kind);
  CHECK(to_text(Kind::reduce_scatter) == "reduce_scatter");
  CHECK_THROWS_WITH_AS(
      parse_kind("broadcast"),
      "\"broadcast\" is not a collective: choose one of bcast, reduce, allreduce, "
      "gather, scatter, allgather, alltoall, reduce_scatter, scan, exscan, barrier",
      std::invalid_argument);
}

TEST_CASE("who has which block, before and after") {
  const Collective bcast{Kind::bcast, 3, 2}, reduce{Kind::reduce, 3, 2}, gather{Kind::gather, 3, 2},
      scatter{Kind::scatter, 3, 2}, allreduce{Kind::allreduce, 3}, allgather{Kind::allgather, 3},
      reduce_scatter{Kind::reduce_scatter, 3}, scan{Kind::scan, 3}, exscan{Kind::exscan, 3},
      barrier{Kind::barrier, 3};
  CHECK(bcast.blocks() == 1);
  CHECK(before(bcast, 0) == std::set<Rank>{2});
  CHECK(after(bcast, 0) == all);
  CHECK(before(reduce, 0) == all);
  CHECK(after(reduce, 0) == std::set<Rank>{2});
  for (const Collective& c : {allreduce, scan, barrier}) {
    CHECK(c.blocks() == 1);
    CHECK(before(c, 0) == all);
    CHECK(after(c, 0) == all);
  }
  CHECK(before(exscan, 0) == all);
  CHECK(after(exscan, 0) == std::set<Rank>{1, 2});
  for (Rank block = 0; block < 3; ++block) {
    CHECK(before(gather, block) == std::set<Rank>{block});
    CHECK(after(gather, block) == std::set<Rank>{2});
    CHECK(before(scatter, block) == std::set<Rank>{2});
    CHECK(after(scatter, block) == std::set<Rank>{block});
    CHECK(before(allgather, block) == std::set<Rank>{block});
    CHECK(after(allgather, block) == all);
    CHECK(before(reduce_scatter, block) == all);
    CHECK(after(reduce_scatter, block) == std::set<Rank>{block});
  }
}

TEST_CASE("an alltoall has a block for each ordered pair") {
  const Collective c{Kind::alltoall, 3};
  CHECK(c.blocks() == 9);
  for (Rank from = 0; from < 3; ++from)
    for (Rank to = 0; to < 3; ++to) {
      CHECK(before(c, from * 3 + to) == std::set<Rank>{from});
      CHECK(after(c, from * 3 + to) == std::set<Rank>{to});
      CHECK(contributors(c, to, from * 3 + to) == std::set<Rank>{from});
    }
}

TEST_CASE("impossible collectives are refused") {
  const auto error_of = [](const Collective& c) -> std::string {
    try {
      collective::validate(c);
      return "none";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  using collective::most_bytes;
  CHECK(error_of({Kind::bcast, 3, 2, most_bytes}) == "none");
  CHECK(error_of({Kind::gather, 4, 0, most_bytes / 4}) == "none");
  CHECK(error_of({Kind::gather, 2, 0, 0, false, {most_bytes, 0}}) == "none");
  CHECK(error_of({Kind::bcast, 0}) == "the bcast of 0 ranks is impossible: it needs at least 1");
  CHECK(error_of({Kind::bcast, 2, 2}) ==
        "the bcast of 2 ranks can't have the root 2: choose one from 0 to 1");
  CHECK(error_of({Kind::bcast, 2, 0, -1}) ==
        "the bcast of 2 ranks can't have -1 bytes: give 0 or more");
  CHECK(error_of({Kind::gather, 2, 0, 0, false, {3}}) ==
        "the gather of 2 ranks needs the sizes of 2 blocks, not of 1");
  const std::string too_large = "the gather of 4 ranks has more than the 256 PiB that all of its "
                                "blocks together may have: give a smaller size";
  CHECK(error_of({Kind::gather, 4, 0, most_bytes / 4 + 1}) == too_large);
  const Size huge = std::numeric_limits<Size>::max();
  CHECK(error_of({Kind::gather, 4, 0, huge}) == too_large);
  CHECK(error_of({Kind::gather, 4, 0, 0, false, {huge, huge, huge, huge}}) == too_large);
}

TEST_CASE("blocks of very many ranks are numbered") {
  for (const Rank ranks : {50'000, 100'000}) {
    const Collective c{Kind::alltoall, ranks, 0, 8, true};
    const ChunkId all_blocks = c.blocks();
    CHECK(all_blocks == std::int64_t{ranks} * ranks);
    CHECK(c.total() == 8 * all_blocks);
    const ChunkId block = all_blocks - 2; // from the last rank to the last but one
    CHECK(c.before(ranks - 1, block));
    CHECK(!c.before(ranks - 2, block));
    CHECK(c.after(ranks - 2, block));
    CHECK(!c.after(ranks - 1, block));
    CHECK(c.slot(ranks - 1, block) == block);
    CHECK(c.slot(ranks - 2, block) == block - (ranks - 1));
  }
}

TEST_CASE("contributions: of all, of the source, or of the ranks up to one's own") {
  for (const Kind kind : {Kind::reduce, Kind::allreduce, Kind::barrier})
    CHECK(contributors({kind, 3}, 0, 0) == all);
  CHECK(contributors({Kind::reduce_scatter, 3}, 1, 1) == all);
  CHECK(contributors({Kind::bcast, 3, 2}, 0, 0) == std::set<Rank>{2});
  CHECK(contributors({Kind::scatter, 3, 2}, 1, 1) == std::set<Rank>{2});
  CHECK(contributors({Kind::gather, 3, 2}, 2, 1) == std::set<Rank>{1});
  CHECK(contributors({Kind::allgather, 3}, 0, 2) == std::set<Rank>{2});
  CHECK(contributors({Kind::scan, 3}, 1, 0) == std::set<Rank>{0, 1});
  CHECK(contributors({Kind::exscan, 3}, 1, 0) == std::set<Rank>{0});
  CHECK(contributors({Kind::exscan, 3}, 0, 0).empty());
}

TEST_CASE("in place, what arrives from a peer takes the slot of what goes to it") {
  const Collective in_place{Kind::alltoall, 3, 0, 0, true}, apart{Kind::alltoall, 3};
  for (Rank rank = 0; rank < 3; ++rank)
    for (ChunkId block = 0; block < 9; ++block) {
      const ChunkId from = block / 3, to = block % 3;
      CHECK(apart.slot(rank, block) == block);
      CHECK(in_place.slot(rank, block) == (rank == to ? to * 3 + from : block));
    }
}

TEST_CASE("rooted and reducing collectives") {
  std::set<Kind> rooted, reducing;
  for (const Kind kind : kinds) {
    if (is_rooted(kind)) rooted.insert(kind);
    if (is_reduction(kind)) reducing.insert(kind);
  }
  CHECK(rooted == std::set{Kind::bcast, Kind::reduce, Kind::gather, Kind::scatter});
  CHECK(reducing == std::set{Kind::reduce, Kind::allreduce, Kind::reduce_scatter, Kind::scan,
                             Kind::exscan, Kind::barrier});
}

} // namespace thalweg::collective
