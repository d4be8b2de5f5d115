#include "algorithms/trees/declared_tree.hpp"
#include "networks.hpp"
#include "schedule/verify.hpp"

#include <doctest/doctest.h>
#include <stdexcept>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using collective::no_rank;

const char* const eight = R"(# two hosts of four ranks
ranks 8
segment_size 64KiB
0: 4 1 2 3   # the other host first
4: 5 6 7
)";

TEST_CASE("the text form of a tree") {
  const Parameters parameters = parse_tree(eight);
  CHECK(parameters.segment_size == 65536);
  CHECK(parameters.tree.order == std::vector<Rank>{0, 4, 1, 2, 3, 5, 6, 7});
  CHECK(parameters.tree.parents == std::vector<Rank>{no_rank, 0, 0, 0, 0, 4, 4, 4});
  const std::string text = to_text(parameters.tree, parameters.segment_size);
  CHECK(parse_tree(text) == parameters);
  CHECK(text.find_first_of(",;=#") == std::string::npos);
  CHECK(parse_tree("ranks 1").tree.order == std::vector<Rank>{0});
}

std::string error(const char* text) {
  try {
    parse_tree(text);
  } catch (const std::invalid_argument& found) {
    return found.what();
  }
  return "none";
}

TEST_CASE("a bad tree's error names the line, the rank and the remedy") {
  CHECK(error("ranks 4\n0: 1 2\n2: 3 1") ==
        "line 3: rank 1 is a child of rank 0 already: list it once");
  CHECK(error("ranks 4\n\n0: 1 2 4") == "line 3: there is no rank 4 among 4: use 0 to 3");
  CHECK(error("ranks 4\n0: 1\n0: 2 3") ==
        "line 3: rank 0 has its children already: put them into one list");
  CHECK(error("ranks 4\n0: 1 2") == "ranks 0 and 3 are nobody's children: list all but the root");
  CHECK(error("ranks 4\n0: 1\n2: 3\n3: 2") ==
        "rank 2 isn't below the root 0: its parents go in a circle");
  CHECK(error("ranks 2\n0: 1\n1: 0") ==
        "every rank is a child of another: one must be the root, in no list");
  CHECK(error("ranks 2\n0 1") == "line 2: there must be a colon after the first rank");
  CHECK(error("ranks 2\nzero: 1") ==
        "line 2: 'zero' is no rank: a line is a rank, a colon and the ranks that it serves, such "
        "as \"0: 4 1 2\"");
  CHECK(error("0: 1") == "a line such as \"ranks 16\" is missing: add it");
  CHECK(error("ranks 2 3\n0: 1") == "line 1: there is more in it than one value");
  CHECK(error("ranks 2\nsegment_size lots\n0: 1").starts_with("line 2: "));
  CHECK(error("{\"schema\": 1}").find("--write-tree") != std::string::npos);
}

TEST_CASE("a tree by hand is executed as written, turned to the collective's root") {
  const Parameters parameters = parse_tree(eight);
  const Network net = random_network(8, 3);
  const auto built = [&](Kind kind, Rank root, Size size) {
    const Collective collective{.kind = kind, .ranks = 8, .root = root, .size = size};
    const Skeleton skeleton =
        find("tree").build({collective, net, {0, 1, 2, 3, 4, 5, 6, 7}}, parameters);
    schedule::verify(collective, expand(kind, skeleton, size));
    return skeleton;
  };
  for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::allreduce, Kind::gather, Kind::scatter,
                          Kind::allgather, Kind::barrier})
    for (Rank root = 0; root < 8; ++root)
      if (root == 0 || collective::is_rooted(kind))
        built(kind, root, kind == Kind::barrier ? 0 : 200'000);
  CHECK(built(Kind::bcast, 0, 1).parents.front() == parameters.tree.parents);
  CHECK(built(Kind::gather, 0, 1).order == parameters.tree.order);
  CHECK(built(Kind::bcast, 0, 200'000).pipeline(200'000).segments == 4);
  const Skeleton turned = built(Kind::bcast, 5, 1);
  CHECK(turned.parents.front() == std::vector<Rank>{4, 0, 0, 0, 5, no_rank, 4, 4});
  CHECK(turned.order == std::vector<Rank>{5, 4, 0, 6, 7, 1, 2, 3});
}

TEST_CASE("a tree by hand is taken only where it was asked for, and fits") {
  const Network net = random_network(4, 3);
  const Problem problem{{.kind = Kind::bcast, .ranks = 4, .size = 1}, net, {0, 1, 2, 3}};
  CHECK(find("tree").candidates(problem).empty());
  CHECK_THROWS_WITH_AS(find("tree").build(problem, {}), doctest::Contains("docs/tree-file.md"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(find("tree").build(problem, parse_tree(eight)),
                       "the tree is for 8 ranks, the bcast has 4: they must be equal",
                       std::invalid_argument);
}

} // namespace
} // namespace thalweg::algorithms
