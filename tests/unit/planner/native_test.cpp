#include "networks.hpp"
#include "planner/native.hpp"
#include "simulator/call_sequence.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

using collective::Collective;

/// So many ranks on each of the hosts.
Placement several_each(const std::vector<HostId>& hosts, int ranks) {
  Placement placement;
  for (const HostId host : hosts)
    placement.insert(placement.end(), static_cast<std::size_t>(ranks), host);
  return placement;
}

PlanOptions quick() {
  PlanOptions options = openmpi();
  options.effort = Effort::estimate;
  return options;
}

Native predict(const Problem& problem, const PlanOptions& options) {
  const Limits limits;
  return NativeModel(problem.network, options, limits).predict(problem);
}

/// Visits problems of all collectives, on all hosts and some, with 1 to 4 ranks each.
template <class Visit>
void for_each_problem(const Network& net, Visit visit) {
  std::vector<HostId> all(net.hosts.size());
  std::iota(all.begin(), all.end(), 0);
  test::Sample sample(16);
  for (const std::vector<HostId>& hosts : {all, {0, 1}, {4, 1, 2}, {5, 0, 3, 2}})
    for (int each = 1; each <= 4; ++each)
      for (const Kind kind : every_kind) {
        const Placement placement = several_each(hosts, each);
        const auto ranks = static_cast<Rank>(placement.size());
        for (const Rank root :
             collective::is_rooted(kind) ? std::vector<Rank>{0, ranks - 1} : std::vector<Rank>{0})
          for (const Size size : {Size{8}, Size{30000}, Size{2000000}}) {
            if (kind == Kind::barrier && size > 8) continue;
            if (!sample.takes_next()) continue;
            CAPTURE(collective::to_text(kind));
            CAPTURE(ranks);
            CAPTURE(each);
            CAPTURE(root);
            CAPTURE(size);
            const Collective collective{.kind = kind,
                                        .ranks = ranks,
                                        .root = root,
                                        .size = kind == Kind::barrier ? 0 : size};
            visit(algorithms::make_problem(collective, net, placement, "openmpi"));
          }
      }
}

} // namespace

TEST_CASE("where native is measured to be fastest it is chosen, on every placement") {
  for_each_problem(with_native(two_sites(3), Time(1e-9)), [](const Problem& problem) {
    const Plan chosen = plan(problem, quick());
    CHECK(chosen.algorithm == native_name);
    CHECK(chosen.predicted == chosen.native.time);
    CHECK(!chosen.native.algorithm.empty());
  });
}

TEST_CASE("where native is measured to be slow a plan is chosen, on every placement") {
  for_each_problem(with_native(two_sites(3), Time(1e6)), [](const Problem& problem) {
    const Plan chosen = plan(problem, quick());
    CHECK(chosen.algorithm != native_name);
    CHECK(chosen.predicted <= chosen.native.to_beat());
  });
}

TEST_CASE("with nothing measured the simulation of native's algorithm decides") {
  int native = 0, planned = 0, lost_in_a_row = 0;
  for_each_problem(two_sites(3), [&](const Problem& problem) {
    const Explanation explained = explain(problem, quick());
    const Plan& chosen = explained.plan;
    CHECK(chosen.native.time.value() > 0);
    CHECK(chosen.native.uncertainty > 0);
    Time best = Time(1e300);
    for (const Candidate& candidate : explained.candidates)
      if (candidate.algorithm != native_name) best = std::min(best, *candidate.time());
    const bool is_native = chosen.algorithm == native_name;
    if (best > chosen.native.to_beat()) CHECK(is_native);
    ++(is_native ? native : planned);
    if (best > chosen.native.to_beat() || !is_native) return;
    const bool is_by_row = chosen.reason.find("in a row of calls") != std::string::npos;
    CHECK(is_by_row == (chosen.reason.find("what the library does") == std::string::npos));
    CHECK((!is_by_row || !collective::synchronizes(problem.collective.kind)));
    lost_in_a_row += is_by_row ? 1 : 0;
  });
  CHECK(native > 0);
  CHECK(planned > 0);
  CHECK(lost_in_a_row > 0);
}

TEST_CASE("a plan isn't the library's own algorithm unless that was measured to be much slower") {
  const Network even = network::even_network(8, Time(1e-4), Rate(1e8));
  const Collective alltoall{.kind = Kind::alltoall, .ranks = 8, .size = 150};
  PlanOptions options;
  options.library = "openmpi-4.1";
  const auto planned = [&](double factor) {
    Network net = even;
    const Native native =
        predict(algorithms::make_problem(alltoall, even, one_each(8), options.library), options);
    CHECK(native.algorithm == "openmpi-4.1: linear");
    net.native_times = {{options.library, "alltoall", 150, native.time * factor}};
    return plan(algorithms::make_problem(alltoall, net, one_each(8), options.library), options);
  };
  const Plan as_predicted = planned(1), slower = planned(1.3), twice = planned(2);
  CHECK(as_predicted.algorithm == native_name);
  CHECK(slower.algorithm == native_name);
  CHECK(slower.reason.find("is what the library does") != std::string::npos);
  CHECK(twice.algorithm != native_name);
}

TEST_CASE("where ranks may run ahead a plan isn't slower than native in a row of calls") {
  const Network net = network::even_network(4, Time(5e-5), Rate(1e9));
  for (const Kind kind : every_kind) {
    CAPTURE(collective::to_text(kind));
    const Problem problem = algorithms::make_problem({.kind = kind, .ranks = 4, .size = 400}, net,
                                                     one_each(4), "openmpi-4.1");
    PlanOptions options;
    options.library = "openmpi-4.1";
    const Plan chosen = plan(problem, options);
    if (collective::synchronizes(kind)) CHECK(chosen.native.in_a_row == Time(0));
    if (chosen.algorithm == native_name || collective::synchronizes(kind)) continue;
    const double gain = chosen.native.time / chosen.predicted;
    CHECK(simulator::time_in_a_row(problem, chosen.skeleton) <=
          chosen.native.in_a_row * std::max(gain, 1.05));
  }
  // The library's chain takes longer once, and hardly anything in a row.
  const Problem scan = algorithms::make_problem({.kind = Kind::scan, .ranks = 4, .size = 400}, net,
                                                one_each(4), "openmpi-4.1");
  PlanOptions options;
  options.library = "openmpi-4.1";
  const Plan chosen = plan(scan, options);
  CHECK(chosen.algorithm == native_name);
  CHECK(chosen.native.in_a_row < chosen.native.time * 0.5);
}

TEST_CASE("a better judge decides alike") {
  const Placement placement = several_each({4, 1, 2}, 2);
  for (const Kind kind : every_kind) {
    const Collective collective{
        .kind = kind, .ranks = 6, .size = kind == Kind::barrier ? 0 : 50000};
    const Network fast = with_native(two_sites(3), Time(1e-9)),
                  slow = with_native(two_sites(3), Time(1e6));
    CAPTURE(collective::to_text(kind));
    CHECK(plan(algorithms::make_problem(collective, fast, placement, "openmpi"), openmpi())
              .algorithm == native_name);
    CHECK(plan(algorithms::make_problem(collective, slow, placement, "openmpi"), openmpi())
              .algorithm != native_name);
  }
}

TEST_CASE("forms of a collective that weren't measured have native's factor too") {
  const Network fast = with_native(two_sites(2), Time(1e-9)),
                slow = with_native(two_sites(2), Time(1e6));
  Collective in_place{.kind = Kind::alltoall, .ranks = 4, .size = 5000, .in_place = true};
  Collective unequal{.kind = Kind::allgather, .ranks = 4, .size = 20000};
  unequal.block_sizes = {10000, 40000, 0, 30000};
  for (const Collective& collective : {in_place, unequal}) {
    CHECK(plan(algorithms::make_problem(collective, fast, one_each(4), "openmpi"), openmpi())
              .algorithm == native_name);
    CHECK(plan(algorithms::make_problem(collective, slow, one_each(4), "openmpi"), openmpi())
              .algorithm != native_name);
  }
}

TEST_CASE("what was measured is predicted as measured, other sizes with the factor between") {
  Network net = two_sites(2);
  const PlanOptions options = openmpi();
  const auto simulated = [&](Size size) {
    return predict(problem(two_sites(2), Kind::bcast, size), options).time;
  };
  // Sizes of one algorithm of Open MPI's.
  const Time small = simulated(10000), large = simulated(1000000);
  net.native_times = {{"openmpi", "bcast", 1000000, 4 * large},
                      {"openmpi", "bcast", 10000, small},
                      {"mpich", "bcast", 10000, Time(7)}};
  const auto time = [&](Size size) {
    return predict(problem(net, Kind::bcast, size), options).time.value();
  };
  CHECK(time(9000) == doctest::Approx(simulated(9000).value()));
  CHECK(time(10000) == doctest::Approx(small.value()));
  CHECK(time(100000) == doctest::Approx(2 * simulated(100000).value()));
  CHECK(time(1000000) == doctest::Approx(4 * large.value()));
  CHECK(time(1040000) == doctest::Approx(4 * simulated(1040000).value()));
  CHECK(predict(problem(net, Kind::bcast, 10000), options).measured);
  CHECK(!predict(problem(net, Kind::bcast, 10001), options).measured);
  CHECK(!predict(problem(net, Kind::bcast, 10000, 1), options).measured);
}

TEST_CASE("an algorithm's own factor counts, not that of the algorithm of other sizes") {
  Network net = two_sites(2);
  const Time flat = predict(problem(net, Kind::bcast, 100000), openmpi()).time,
             binary = predict(problem(net, Kind::bcast, 1000), openmpi()).time;
  net.native_times = {
      {"openmpi", "bcast", 1000, 3 * binary},
      {"openmpi", "bcast", 200000, 5 * predict(problem(net, Kind::bcast, 200000), openmpi()).time}};
  CHECK(predict(problem(net, Kind::bcast, 100000), openmpi()).time.value() ==
        doctest::Approx(5 * flat.value()));
}

TEST_CASE("the farther from what was measured, the more uncertain") {
  Network net = two_sites(2);
  const Problem bcast = problem(net, Kind::bcast, 1000);
  const double unknown = predict(bcast, openmpi()).uncertainty;
  net.native_times = {{"openmpi", "reduce", 1000, Time(0.01)}};
  const double by_another = predict(bcast, openmpi()).uncertainty;
  net.native_times.push_back({"openmpi", "bcast", 1000, Time(0.01)});
  const double measured = predict(bcast, openmpi()).uncertainty,
               another_root = predict(problem(net, Kind::bcast, 1000, 1), openmpi()).uncertainty,
               another_size = predict(problem(net, Kind::bcast, 4000), openmpi()).uncertainty;
  CHECK(0 < measured);
  CHECK(measured < another_root);
  CHECK(measured < another_size);
  CHECK(std::max(another_root, another_size) < by_another);
  CHECK(by_another < unknown);
}

TEST_CASE("a collective that wasn't measured takes the mean factor of the others") {
  Network net = two_sites(2);
  const Time bcast = predict(problem(net, Kind::bcast, 1000), openmpi()).time,
             reduce = predict(problem(net, Kind::reduce, 1000), openmpi()).time,
             gather = predict(problem(net, Kind::gather, 1000), openmpi()).time;
  net.native_times = {{"openmpi", "bcast", 1000, 8 * bcast},
                      {"openmpi", "reduce", 1000, 2 * reduce}};
  CHECK(predict(problem(net, Kind::gather, 1000), openmpi()).time.value() ==
        doctest::Approx(4 * gather.value()));
}

TEST_CASE("a library's name tells its rules; without one the fastest counts") {
  const Network net = two_sites(4);
  const auto rules = [&](const char* library) {
    std::vector<std::string> names;
    for (const NativeAlgorithm& algorithm :
         native_algorithms(problem(net, Kind::bcast, 100000), library))
      names.push_back(algorithm.library);
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(rules("mpich") == Names{"mpich"});
  CHECK(rules("mpich-1.4") == Names{"mpich-1.4"});
  CHECK(rules("openmpi") == Names{"openmpi-4.1"}); // With one rank per host 5.0 does the same.
  CHECK(rules("openmpi-5.0") == Names{"openmpi-5.0"});
  CHECK(rules("intelmpi") == Names{"mpich", "openmpi-4.1"});
  CHECK(rules("") == rules("intelmpi"));
  PlanOptions options;
  const auto time = [&](const char* library) {
    options.library = library;
    return predict(problem(net, Kind::bcast, 100000), options).time;
  };
  CHECK(time("") == std::min(time("mpich"), time("openmpi")));
}

TEST_CASE("with several ranks per host MPICH goes by hosts") {
  const Network net = two_sites(4);
  const auto text = [&](Kind kind, Size size, int each, const char* library) {
    const Placement placement = several_each({0, 1, 4, 5}, each);
    const auto ranks = static_cast<Rank>(placement.size());
    const Problem problem{{.kind = kind, .ranks = ranks, .size = size}, net, placement};
    return to_text(native_algorithms(problem, library).front());
  };
  CHECK(text(Kind::bcast, 1000, 1, "mpich") == "mpich: binomial");
  CHECK(text(Kind::bcast, 1000, 2, "mpich") ==
        "mpich: binomial between hosts, binomial within hosts");
  CHECK(text(Kind::bcast, 600 << 10, 2, "mpich") == "mpich: scatter-allgather");
  CHECK(text(Kind::bcast, 13 << 10, 3, "mpich") == "mpich: scatter-allgather");
  CHECK(text(Kind::allreduce, 100000, 3, "mpich") ==
        "mpich: rabenseifner within hosts, rabenseifner between hosts, binomial within hosts");
  CHECK(text(Kind::allgather, 1000, 2, "mpich") == "mpich: recursive-doubling-allgather");
  CHECK(text(Kind::bcast, 1000, 2, "mpich-1.4") ==
        "mpich-1.4: binomial between hosts, binomial within hosts");
  CHECK(text(Kind::bcast, 13 << 10, 3, "mpich-1.4") == "mpich-1.4: scatter-allgather");
  CHECK(text(Kind::reduce, 100000, 3, "mpich-1.4") ==
        "mpich-1.4: rabenseifner within hosts, rabenseifner between hosts");
  CHECK(text(Kind::gather, 100000, 3, "mpich-1.4") == "mpich-1.4: binomial");
  CHECK(text(Kind::reduce, 100000, 2, "openmpi-4.1") == "openmpi-4.1: binomial");
  CHECK(text(Kind::reduce, 100000, 2, "openmpi-5.0") == "openmpi-5.0: two-level tree");
  CHECK(
      text(Kind::allgather, 1000, 2, "openmpi-5.0") ==
      "openmpi-5.0: binomial within hosts, recursive-doubling-allgather between hosts, flat within "
      "hosts");
}

TEST_CASE("a table's rows know native's time, and begin where native and plan cross") {
  Network net = two_sites(2);
  const PlanOptions options = openmpi();
  const auto simulated = [&](Size size) {
    return predict(problem(net, Kind::bcast, size), options).time;
  };
  // Fast while messages are short, slow from some size on.
  const Time fast = 0.5 * simulated(20000), slow = 4 * simulated(600000);
  net.native_times = {{"openmpi", "bcast", 20000, fast}, {"openmpi", "bcast", 600000, slow}};
  const Table table = make_table(net, one_each(4), std::array{Kind::bcast}, options, 1 << 20);
  const std::shared_ptr<const Entry> small = table.find(Kind::bcast, 0, 20000);
  const std::shared_ptr<const Entry> large = table.find(Kind::bcast, 0, 600000);
  REQUIRE(small);
  REQUIRE(large);
  CHECK(small->native);
  CHECK(!large->native);
  for (const Entry& entry : table.entries) {
    CHECK(entry.native_percent > 0);
    CHECK(entry.native_algorithm.starts_with("openmpi-4.1: "));
    CHECK(!entry.times.empty());
    for (const PredictedTimes& times : entry.times) {
      CHECK(times.native_ns > 0);
      if (entry.native) CHECK(times.plan_ns == times.native_ns);
      if (!entry.native) CHECK(times.plan_ns < times.native_ns); // 0: not known
      CHECK((times.plan_ns > 0 || times.bound_ns == 0));
    }
  }
  for (const Entry& entry : table.entries) {
    const double native =
        predict(problem(net, Kind::bcast, entry.min_size, entry.root), options).time.value();
    CHECK(1e-9 * static_cast<double>(
                     table.predict(Kind::bcast, entry.root, entry.min_size).native_ns) ==
          doctest::Approx(native).epsilon(0.1));
  }
  // Where they cross: just before it native is the choice, from it on the plan.
  const auto edge =
      std::find_if(table.entries.begin(), table.entries.end(),
                   [](const Entry& entry) { return entry.root == 0 && !entry.native; });
  REQUIRE(edge != table.entries.end());
  CHECK(std::popcount(static_cast<std::uint64_t>(edge->min_size)) > 1); // no border of a class
  const auto ratio = [&](Size size) {
    const Problem bcast = problem(net, Kind::bcast, size);
    return simulator::simulate(bcast, edge->skeleton).time / predict(bcast, options).to_beat();
  };
  CHECK(ratio(edge->min_size) < 1.02);
  CHECK(ratio(edge->min_size * 3 / 4) > 0.98);
}

TEST_CASE(
    "between sizes whose factors differ the prediction is as uncertain as the nearer is far") {
  Network net = two_sites(2);
  const auto simulated = [&](Size size) {
    return predict(problem(net, Kind::allgather, size), openmpi()).time;
  };
  const auto between = [&](double factor_above) {
    net.native_times.clear();
    const Time below = simulated(10000), above = simulated(160000);
    net.native_times = {{"openmpi", "allgather", 10000, below},
                        {"openmpi", "allgather", 160000, factor_above * above}};
    return predict(problem(net, Kind::allgather, 20000), openmpi()).uncertainty;
  };
  const double alike = between(1), differing = between(1.5);
  CHECK(differing == doctest::Approx(alike + std::log(1.5) / 4));
  CHECK(between(1e9) < 1);
}

TEST_CASE("a row begins just where the library takes another algorithm, if that is what counts") {
  // The default rules take 20 ms up to 256 bytes, by an algorithm of several steps, and 10 above.
  const Network net = two_sites(8);
  const Table table = make_table(net, one_each(16), std::array{Kind::alltoall}, {}, 4096);
  const auto native = [&](Size size) { return predict(problem(net, Kind::alltoall, size), {}); };
  REQUIRE(native(256).algorithm != native(257).algorithm);
  REQUIRE(native(256).time > 1.5 * native(257).time);
  for (const Size size : {256, 257})
    CHECK(1e-9 * static_cast<double>(table.predict(Kind::alltoall, 0, size).native_ns) ==
          doctest::Approx(native(size).time.value()).epsilon(0.01));
  CHECK(table.predict(Kind::alltoall, 0, 256).plan_ns ==
        doctest::Approx(1e9 * native(257).time.value()).epsilon(0.05)); // the same messages
  CHECK(!table.find(Kind::alltoall, 0, 256)->native);
  CHECK(table.find(Kind::alltoall, 0, 257)->native);
}
