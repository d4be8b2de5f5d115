#include "algorithms/trees/declared_tree.hpp"
#include "runtime/choose/chooser.hpp"
#include "runtime/choose/settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace thalweg::runtime {
namespace {

using collective::Kind;

/// A file that goes with it.
class TreeFile {
public:
  explicit TreeFile(const std::string& text)
      : _path("/tmp/thalweg-tree-" + std::to_string(getpid()) + ".tree") {
    std::ofstream(_path) << text;
  }
  TreeFile(const TreeFile&) = delete;
  TreeFile& operator=(const TreeFile&) = delete;
  ~TreeFile() { std::remove(_path.c_str()); }
  [[nodiscard]] const std::string& path() const { return _path; }

private:
  std::string _path;
};

const char* const text =
    "ranks 4  # a comment, with an = and a ;\nsegment_size 1KB\n2: 0 3\n3: 1\n";

/// with_files() of a text without errors.
std::string replaced(std::string_view force) {
  std::vector<std::string> problems;
  std::string result = with_files(force, problems);
  CHECK(problems.empty());
  return result;
}

TEST_CASE("rank 0 puts a tree file's content where its name stood; all parse that") {
  const TreeFile file(text);
  const std::string shared =
      replaced("reduce=flat;bcast=tree:file=" + file.path() + ",segment_size=2KB;scatter=native");
  CHECK(shared.find(file.path()) == std::string::npos);
  const Force force = parse_force(shared);
  CHECK(force[Kind::reduce].algorithm == &algorithms::find("flat"));
  CHECK(force[Kind::bcast].algorithm == &algorithms::find("tree"));
  CHECK(force[Kind::bcast].parameters.tree == algorithms::parse_tree(text).tree);
  CHECK(force[Kind::bcast].parameters.segment_size == 2000); // what comes later counts
  CHECK(force[Kind::scatter].what == Force::What::native);
  CHECK(parse_force(replaced("bcast=tree:file=" + file.path()))[Kind::bcast]
            .parameters.segment_size == 1000);
  for (const char* same : {"", "native", "bcast=flat", "bcast=flat:degree=3,order=rank;", ";;"})
    CHECK(replaced(same) == same);
}

TEST_CASE("a forced tree is what all ranks execute") {
  const TreeFile file(text);
  const Force force = parse_force(replaced("bcast=tree:file=" + file.path()));
  const network::Network network = network::even_network(4, units::Time(1e-4), units::Rate(1e8));
  Chooser chooser(network, "", {0, 1, 2, 3}, 3, nullptr);
  const Shape bcast{.kind = Kind::bcast, .root = 2, .size = 10'000};
  const auto choice = chooser.choose(bcast, force, 0);
  REQUIRE(choice.prepared != nullptr);
  CHECK(choice.prepared->pipeline_of(bcast.size).segments == 10);
  // For another number of ranks it is native, on all alike.
  Chooser smaller(network, "", {0, 1, 2}, 0, nullptr);
  const auto refused = smaller.choose(bcast, force, 0);
  CHECK(refused.reason == Reason::failure);
  REQUIRE(refused.refusal != nullptr);
  CHECK(refused.refusal->text ==
        "THALWEG_FORCE: bcast=tree can't be done by 3 ranks: the tree is for 4 ranks, the bcast "
        "has 3: they must be equal; it is native there");
  // Said once.
  CHECK(smaller.choose(bcast, force, 0).refusal == nullptr);
}

TEST_CASE("a bad tree file makes its collective native, with a remark that names the file, the "
          "line and the rank") {
  const TreeFile file("ranks 2\n0: 1 2\n");
  setenv("THALWEG_FORCE", ("reduce=flat;bcast=tree:file=" + file.path()).c_str(), 1);
  const Settings settings = Settings::from_environment();
  setenv("THALWEG_FORCE", "bcast=tree:file=/no/such/file", 1);
  const Settings missing = Settings::from_environment();
  unsetenv("THALWEG_FORCE");
  CHECK(settings.problem.empty());
  CHECK(settings.remarks ==
        std::vector{"THALWEG_FORCE: tree file '" + file.path() +
                    "': line 2: there is no rank 2 among 2: use 0 to 1; bcast is native"});
  CHECK(settings.force == "reduce=flat;bcast=native");
  CHECK(missing.remarks ==
        std::vector<std::string>{
            "THALWEG_FORCE: tree file '/no/such/file': can't open it; bcast is native"});
  CHECK(missing.planned);
  for (const char* wrong : {"bcast=tree", "bcast=tree:degree=2", "bcast=tree:file=x",
                            "bcast=tree:tree=ranks 2\n0: 2", "scan=tree:tree=ranks 1"})
    CHECK_THROWS_AS(parse_force(wrong), std::invalid_argument);
}

TEST_CASE("the parameters of the papers' algorithms can be forced") {
  const Force force = parse_force("gather=distance-tree:base=2,span=0,adjust=printed;"
                                  "bcast=site-scatter-allgather:split=early,senders=3");
  CHECK(force[Kind::gather].parameters.base == 2);
  CHECK(force[Kind::gather].parameters.span == 0);
  CHECK(force[Kind::gather].parameters.adjust == network::Adjust::printed);
  CHECK(force[Kind::bcast].parameters.split == algorithms::Split::early);
  for (const char* wrong : {"bcast=hierarchical:base=1", "bcast=hierarchical:span=-1",
                            "bcast=hierarchical:adjust=both", "bcast=flat:split=late"})
    CHECK_THROWS_AS(parse_force(wrong), std::invalid_argument);
}

} // namespace
} // namespace thalweg::runtime
