#include "network/host_names.hpp"
#include "runtime/choose/chooser.hpp"
#include "runtime/choose/force.hpp"
#include "runtime/choose/settings.hpp"
#include "runtime/intercept/guard.hpp"
#include "runtime/mpi/process.hpp"
#include "runtime/setup/hosts.hpp"
#include "unit/error_of.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <doctest/doctest.h>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

using namespace thalweg;
using namespace thalweg::runtime;
using collective::Kind;
using collective::Neighborhood;

TEST_CASE("what is forced is read as written") {
  const Force force =
      parse_force("bcast=pipelined-chain:segment_size=32KB,degree=3,order=rank;allreduce=native");
  CHECK(force[Kind::bcast].what == Force::What::algorithm);
  CHECK(force[Kind::bcast].algorithm == &algorithms::find("pipelined-chain"));
  CHECK(force[Kind::bcast].parameters.segment_size == 32'000);
  CHECK(force[Kind::bcast].parameters.degree == 3);
  CHECK(force[Kind::bcast].parameters.order == algorithms::Order::rank);
  CHECK(force[Kind::allreduce].what == Force::What::native);
  CHECK(force[Kind::reduce].what == Force::What::nothing);
  // A candidate of one tree, which explain prints.
  CHECK(parse_force("bcast=packed-trees:degree=1")[Kind::bcast].parameters.degree == 1);
  CHECK(parse_force("")[Kind::bcast].what == Force::What::nothing);
  const auto pace = parse_force("neighbor_alltoall=by-rank:window=2")[Neighborhood::alltoall];
  CHECK((pace && pace->pacing == planner::Pacing::by_rank && pace->window == 2));
  CHECK(!parse_force("neighbor_alltoall=by-host")[Neighborhood::allgather]);
  CHECK(parse_force("native")[Neighborhood::allgather]->pacing == planner::Pacing::native);
  CHECK(parse_force("native")[Kind::bcast].what == Force::What::native);
}

TEST_CASE("what can't be forced is named") {
  for (const char* text :
       {"bcast", "bcast=", "bcast=no-such", "no-such=native", "bcast=binomial:degree=x",
        "bcast=binomial:degree=0", "bcast=binomial:colour=red", "bcast=binomial:segment_size=many",
        "bcast=ring", "bcast=binomial:order=random", "neighbor_alltoall=ring",
        "neighbor_alltoall=by-rank:window=0", "neighbor_allgather=by-rank:window=2x"}) {
    CAPTURE(text);
    const std::string said = thalweg::test::error_of([&] { parse_force(text); });
    CHECK(said.starts_with("THALWEG_FORCE: "));
    CHECK(said.rfind("THALWEG_FORCE") == 0); // named once
  }
  const std::string other = thalweg::test::error_of([] { parse_force("bcast=ring"); });
  CHECK(other.starts_with("THALWEG_FORCE: 'ring': expected an algorithm for bcast: "));
  CHECK(other.find("binomial") != std::string::npos);
}

TEST_CASE("what a forced algorithm can't do is refused with its reason, alike on all ranks") {
  const network::Network network = network::even_network(5, units::Time(1e-4), units::Rate(1e8));
  const std::string native_there = "; it is native there";
  const auto refusal = [&](const char* force, Shape shape, Rank rank) {
    Chooser chooser(network, "", {0, 1, 2, 3, 4}, rank, nullptr);
    const auto choice = chooser.choose(shape, parse_force(force), 0);
    CHECK(choice.prepared == nullptr);
    return choice.refusal != nullptr ? choice.refusal->text : "";
  };
  for (const Rank rank : {0, 3}) {
    CHECK(refusal("allgather=neighbor-exchange", {.kind = Kind::allgather, .size = 10}, rank) ==
          "THALWEG_FORCE: allgather=neighbor-exchange can't be done by 5 ranks: it needs an even "
          "number of ranks" +
              native_there);
    CHECK(refusal("alltoall=mesh", {.kind = Kind::alltoall, .size = 10}, rank) ==
          "THALWEG_FORCE: alltoall=mesh can't be done by 5 ranks: it needs a number of ranks that "
          "is a product of two larger than 1" +
              native_there);
    CHECK(refusal("alltoall=bruck", {.kind = Kind::alltoall, .size = 10, .sizes_are_known = false},
                  rank) ==
          "THALWEG_FORCE: alltoall=bruck can't be done by 5 ranks: it sends blocks through ranks "
          "that don't know their sizes" +
              native_there);
  }
  for (const algorithms::Algorithm* algorithm : algorithms::all())
    for (const Kind kind : collective::kinds)
      for (Rank ranks = 2; ranks <= 129; ++ranks) {
        if (!algorithm->supports(kind) || algorithm->can_do({.kind = kind, .ranks = ranks}))
          continue;
        CAPTURE(algorithm->name());
        CHECK(!algorithm->needed_ranks().empty());
      }
}

TEST_CASE("a choice is the table's, or what is forced instead") {
  const network::Network network = network::even_network(4, units::Time(1e-4), units::Rate(1e8));
  const network::Placement placement = {0, 1, 2, 3};
  const collective::Collective large{
      .kind = Kind::bcast, .ranks = 4, .root = 1, .size = 100'000, .in_place = false};
  const auto& binomial = algorithms::find("binomial");
  auto table = std::make_shared<planner::Table>();
  table->placement = placement;
  planner::Entry native, planned;
  native.kind = planned.kind = Kind::bcast;
  native.root = planned.root = 1;
  planned.min_size = 1000;
  planned.native = false;
  planned.skeleton = binomial.build({large, network, placement}, {});
  table->entries = {native, planned};
  Chooser chooser(network, "", placement, 2, table);

  const Force nothing;
  const Shape shape{.kind = Kind::bcast, .root = 1, .size = 100'000};
  const Shape small{.kind = Kind::bcast, .root = 1, .size = 100};
  CHECK(chooser.choose(small, nothing, 0).prepared == nullptr);
  CHECK(chooser.choose(small, nothing, 0).reason == Reason::plan_native);
  const auto prepared = chooser.choose(shape, nothing, 0).prepared;
  REQUIRE(prepared != nullptr);
  CHECK(prepared->pipeline.window == planned.skeleton.window);
  CHECK(chooser.choose(shape, nothing, 0).prepared == prepared);
  for (units::Size size = 100'001; size < 101'000; ++size) {
    const auto other = chooser.choose({.kind = Kind::bcast, .root = 1, .size = size}, nothing, 0);
    CHECK(other.prepared->program == prepared->program); // which takes long to make, and memory
  }

  const Force flat = parse_force("bcast=flat"), all_native = parse_force("native");
  CHECK(chooser.choose(small, flat, 1).prepared != nullptr);
  CHECK(chooser.choose(shape, all_native, 2).prepared == nullptr);
  CHECK(chooser.choose(shape, nothing, 3).prepared != nullptr);

  const Force wide = parse_force("bcast=flat:window=64");
  CHECK(wide[Kind::bcast].parameters.window == 64);
  CHECK(chooser.choose(small, wide, 4).prepared->pipeline.window == 64);
  CHECK_THROWS_AS(parse_force("bcast=flat:window=-1"), std::invalid_argument);

  Chooser without_table(network, "", placement, 2, nullptr);
  CHECK(without_table.choose(shape, nothing, 0).prepared == nullptr);
  CHECK(without_table.choose(shape, flat, 1).prepared != nullptr);
}

TEST_CASE("each row of a table has a program of its own, also one that ranks of a host share") {
  const network::Network network = network::even_network(3, units::Time(1e-4), units::Rate(1e8));
  const network::Placement placement = {0, 0, 1, 1, 2};
  auto table = std::make_shared<planner::Table>(planner::Table{placement, {}});
  for (const Kind kind : {Kind::bcast, Kind::reduce})
    for (const Rank root : {0, 2, 4})
      for (const units::Size size : {1, 1000}) {
        const auto problem = algorithms::make_problem(
            {.kind = kind, .ranks = 5, .root = root, .size = size}, network, placement, "");
        const auto built = [&](const char* name) {
          return algorithms::make_skeleton(algorithms::find(name), problem, {});
        };
        table->entries.push_back({.kind = kind,
                                  .root = root,
                                  .min_size = size,
                                  .native = false,
                                  .skeleton = built(size == 1 ? "flat" : "chain"),
                                  .second = built("binomial")});
      }
  const auto moved = [](const Program& program) {
    std::vector<std::tuple<Rank, Rank, schedule::Step>> all;
    for (const auto& transfer : program.transfers())
      all.emplace_back(transfer.from, transfer.to, transfer.step);
    return all;
  };
  for (Rank rank = 0; rank < 5; ++rank) {
    Chooser chooser(network, "", placement, rank, table);
    for (const Rank root : {3, 0, 1, 2, 4, 1, 3})
      for (const Kind kind : {Kind::bcast, Kind::reduce})
        for (const units::Size size : {2, 5000, 7}) {
          const Shape shape{.kind = kind, .root = root, .size = size};
          const auto prepared = chooser.choose(shape, {}, 0).prepared;
          const planner::Entry row = *table->find(kind, root, size);
          REQUIRE(prepared != nullptr);
          const auto expected = [&](const algorithms::Skeleton& skeleton) {
            return moved(Program(algorithms::emit(kind, skeleton, rank), rank,
                                 prepared->pipeline.period, 1));
          };
          CHECK(moved(*prepared->program) == expected(row.skeleton));
          CHECK(moved(*chooser.second(shape)->program) == expected(*row.second));
        }
  }
}

TEST_CASE("calls of all sizes of a row, or of a forced choice, are executed by the same") {
  const network::Network network = network::even_network(4, units::Time(1e-4), units::Rate(1e8));
  const network::Placement placement = {0, 1, 2, 3};
  const auto skeleton = [&](const char* algorithm) {
    const auto problem = algorithms::make_problem({.kind = Kind::gather, .ranks = 4, .size = 1000},
                                                  network, placement, "");
    return algorithms::make_skeleton(algorithms::find(algorithm), problem, {});
  };
  auto table = std::make_shared<planner::Table>(planner::Table{
      placement, {{Kind::gather, 0, planner::unknown_size, false, skeleton("flat")}}});
  Chooser chooser(network, "", placement, 1, table);
  const auto shape = [](Kind kind, units::Size size, bool is_known = true) {
    return Shape{.kind = kind, .size = size, .sizes_are_known = is_known};
  };
  const auto first = chooser.choose(shape(Kind::gather, 1), {}, 0).prepared;
  REQUIRE(first != nullptr);
  CHECK(chooser.choose(shape(Kind::gather, 1, false), {}, 0).prepared == first);
  // That its blocks go directly is found out once, since it takes all ranks' programs: another plan
  // isn't noticed in its place.
  table->entries.front().skeleton = skeleton("chain");
  for (units::Size size = 2; size < 1000; ++size) {
    CHECK(chooser.choose(shape(Kind::gather, size), {}, 0).prepared == first);
    CHECK(chooser.choose(shape(Kind::gather, size, false), {}, 0).prepared == first);
  }

  Chooser reproducible(network, "", placement, 1, nullptr, true);
  const auto reduced = reproducible.choose(shape(Kind::allreduce, 8), {}, 0).prepared;
  REQUIRE(reduced != nullptr);
  for (units::Size size = 16; size < 8000; size += 8)
    CHECK(reproducible.choose(shape(Kind::allreduce, size), {}, 0).prepared == reduced);
}

TEST_CASE("programs of forced calls of many roots don't fill the memory") {
  constexpr Rank ranks = 512;
  const network::Network network =
      network::even_network(ranks, units::Time(1e-4), units::Rate(1e8));
  network::Placement placement(ranks);
  std::iota(placement.begin(), placement.end(), 0);
  Chooser chooser(network, "", placement, 0, nullptr);
  const Force forced = parse_force("bcast=scatter-allgather");
  std::vector<std::weak_ptr<const Prepared>> all;
  for (Rank root = 0; root < 400; ++root)
    all.emplace_back(
        chooser.choose({.kind = Kind::bcast, .root = root, .size = 4096}, forced, 1).prepared);
  const auto kept = std::ranges::count_if(all, [](const auto& each) { return !each.expired(); });
  CHECK(kept > 10);
  CHECK(kept < 300);
  CHECK(!all.back().expired());
}

TEST_CASE("an alltoall whose sizes nobody knows is planned only if its blocks go directly") {
  const network::Network network = network::even_network(5, units::Time(1e-4), units::Rate(1e8));
  Chooser chooser(network, "", {0, 1, 2, 3, 4}, 2, nullptr);
  Shape shape{.kind = Kind::alltoall, .root = 0, .size = 65536};
  const Force bruck = parse_force("alltoall=bruck"), pairwise = parse_force("alltoall=pairwise");
  CHECK(chooser.choose(shape, bruck, 1).reason == std::nullopt);
  CHECK(chooser.choose(shape, pairwise, 2).reason == std::nullopt);
  shape.sizes_are_known = false;
  CHECK(chooser.choose(shape, pairwise, 2).reason == std::nullopt);
  const auto choice = chooser.choose(shape, bruck, 3);
  CHECK(choice.prepared == nullptr);
  CHECK(choice.reason == Reason::unknown_sizes);
}

TEST_CASE("a row for all sizes serves calls of unknown ones only if its blocks go directly") {
  const network::Network network = network::even_network(4, units::Time(1e-4), units::Rate(1e8));
  const network::Placement placement = {0, 1, 2, 3};
  for (const char* algorithm : {"chain", "flat"}) {
    CAPTURE(algorithm);
    auto table = std::make_shared<planner::Table>();
    table->placement = placement;
    const auto problem = algorithms::make_problem({.kind = Kind::gather, .ranks = 4, .size = 1000},
                                                  network, placement, "");
    table->entries = {{Kind::gather, 0, 0, false,
                       algorithms::make_skeleton(algorithms::find(algorithm), problem, {})}};
    Chooser chooser(network, "", placement, 1, table);
    Shape shape{.kind = Kind::gather, .root = 0, .size = 65536};
    CHECK(chooser.choose(shape, {}, 0).prepared != nullptr);
    shape.sizes_are_known = false; // whatever came before
    const auto choice = chooser.choose(shape, {}, 0);
    if (algorithm == std::string_view("flat"))
      CHECK(choice.prepared != nullptr);
    else
      CHECK(choice.reason == Reason::unknown_sizes);
  }
}

TEST_CASE("a table's row for unknown sizes serves calls whose sizes nobody knows") {
  const network::Network network = network::even_network(3, units::Time(1e-4), units::Rate(1e8));
  const network::Placement placement = {0, 1, 2};
  const auto skeleton = [&](const char* algorithm) {
    return algorithms::make_skeleton(
        algorithms::find(algorithm),
        algorithms::make_problem({.kind = Kind::gather, .ranks = 3, .size = 1000}, network,
                                 placement, ""),
        {});
  };
  auto table = std::make_shared<planner::Table>();
  table->placement = placement;
  planner::Entry unknown{Kind::gather, 0, planner::unknown_size, false, skeleton("flat")};
  planner::Entry known{Kind::gather, 0, 1, false, skeleton("chain")};
  table->entries = {unknown, known};
  Chooser chooser(network, "", placement, 0, table);
  Shape shape{.kind = Kind::gather, .root = 0, .size = 65536};
  const std::string chain = chooser.choose(shape, {}, 0).prepared->description;
  CHECK(chain.starts_with("chain"));
  shape.sizes_are_known = false;
  CHECK(chooser.choose(shape, {}, 0).prepared->description == "flat");
  shape.root = 1;
  CHECK(chooser.choose(shape, {}, 0).prepared == nullptr);
}

TEST_CASE("ranks that aren't where the plan expects them are named") {
  planner::PlanFile plan;
  plan.network = network::even_network(3, units::Time(1e-4), units::Rate(1e8));
  for (std::size_t i = 0; i < 3; ++i)
    plan.network.hosts[i].name = std::string(1, "abc"[i]);
  CHECK(misplacement(plan, {0, 1}).empty());
  plan.tables.resize(2);
  plan.tables[0].placement = {0, 1, 2};
  plan.tables[1].placement = {0, 0, 1, 2};
  CHECK(misplacement(plan, {0, 1, 2}).empty());
  CHECK(misplacement(plan, {0, 0, 1, 2}).empty());
  CHECK(misplacement(plan, {2, 1}).empty());
  const std::string text = misplacement(plan, {0, 2, 1});
  CHECK(text.find("rank 1 runs on c, where the plan has it on b (2 of 3 ranks") !=
        std::string::npos);
}

TEST_CASE("without a plan the hosts are those of the ranks") {
  const auto names = assumed_names("x,y", 5);
  CHECK(names == std::vector<std::string>{"x", "y", "x", "y", "x"});
  const network::Network network = assumed_network(names);
  CHECK(network.size() == 2);
  CHECK(place(names, network) == network::Placement{0, 1, 0, 1, 0});
}

TEST_CASE("settings reach the other ranks unchanged") {
  Settings settings;
  settings.plan = "stays where it is";
  settings.plan_path = "/tmp/plan";
  settings.plan_seal = std::string("a\0b", 3);
  settings.force = "bcast=flat";
  settings.trace = "/tmp/x";
  settings.window = 13;
  settings.planned = true;
  settings.nonblocking = true;
  settings.one_host = true;
  const Settings copy = Settings::from_bytes(settings.to_bytes());
  CHECK(copy.plan.empty());
  CHECK(copy.plan_path == settings.plan_path);
  CHECK(copy.plan_seal == settings.plan_seal);
  CHECK(copy.force == settings.force);
  CHECK(copy.trace == settings.trace);
  CHECK(copy.window == 13);
  CHECK(copy.planned);
  CHECK(copy.nonblocking);
  CHECK(copy.one_host);
  CHECK_FALSE(copy.verbose);
  CHECK(copy.problem.empty());
}

TEST_CASE("a plan that isn't there is a problem, not an exception") {
  setenv("THALWEG_PLAN", "/no/such/file", 1);
  const Settings settings = Settings::from_environment();
  unsetenv("THALWEG_PLAN");
  CHECK(settings.problem.find("/no/such/file") != std::string::npos);
}

TEST_CASE("taking one library out of a preload list") {
  CHECK(without("/bin/true:/bin/false", "/nowhere") == "/bin/true:/bin/false");
  CHECK(without("/no/a.so /no/b.so", "/no/a.so") == "/no/b.so");
  CHECK(without("/no/a.so", "/no/a.so").empty());
  CHECK(without("::/no/a.so:", "/no/b.so") == "/no/a.so");
}

namespace {

[[gnu::noinline]] bool outermost_inside() {
  Guard guard;
  const bool result = guard.outermost();
  guard.leave();
  return result;
}

[[gnu::noinline]] bool outermost_deeper(int depth) {
  volatile int frame[64] = {depth};
  return frame[0] == 0 ? outermost_inside() : outermost_deeper(frame[0] - 1);
}

std::jmp_buf escape;

[[gnu::noinline]] void leave_by_longjmp() {
  Guard guard;
  std::longjmp(escape, 1);
}

} // namespace

TEST_CASE("the guard tells calls from outside, also after a longjmp") {
  CHECK(outermost_inside());
  {
    Guard guard;
    CHECK(guard.outermost());
    CHECK_FALSE(outermost_inside());
    CHECK_FALSE(outermost_deeper(20));
    guard.leave();
  }
  CHECK(outermost_inside());
  if (setjmp(escape) == 0) leave_by_longjmp();
  CHECK(outermost_inside());
  if (setjmp(escape) == 0) leave_by_longjmp();
  CHECK(outermost_deeper(20));
}
