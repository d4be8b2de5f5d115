#include "mapping/starts.hpp"
#include "mapping/state.hpp"
#include "mapping/streams.hpp"
#include "problems.hpp"
#include "unit/share.hpp"

#include <array>
#include <doctest/doctest.h>
#include <map>
#include <numeric>

namespace thalweg::mapping {
namespace {

using test::share_of;
using testing::Draw;

/// The definition of the cost, over all ordered pairs, without any of the search's tables.
Cost slow_cost(const Problem& problem, const Placement& placement) {
  const Network& net = problem.network;
  const std::size_t hosts = net.hosts.size();
  const bool latency = problem.metric != Metric::bandwidth;
  const bool bytes = problem.metric != Metric::latency;
  std::vector<double> busy(2 * hosts + net.trunks.size());
  std::map<std::int32_t, std::vector<double>> waits; // by phase and rank
  for (const Traffic& each : problem.communication.entries()) {
    const HostId from = placement[index(each.from)], to = placement[index(each.to)];
    if (from == to) continue;
    std::vector<double>& phase = waits[each.phase];
    phase.resize(index(problem.ranks()));
    double& wait = phase[index(each.to)];
    if (latency) wait += each.messages * net.latency(from, to).value();
    if (!bytes) continue;
    wait += each.bytes / net.bandwidth(from, to).value();
    busy[index(from)] += each.bytes / net.hosts[index(from)].egress.value();
    busy[hosts + index(to)] += each.bytes / net.hosts[index(to)].ingress.value();
    for (std::size_t trunk = 0; trunk < net.trunks.size(); ++trunk)
      if (std::ranges::count(net.trunks[trunk].from, from) > 0 &&
          std::ranges::count(net.trunks[trunk].to, to) > 0)
        busy[2 * hosts + trunk] += each.bytes / net.trunks[trunk].capacity.value();
  }
  double pairs = 0, eighths = 0;
  for (const auto& [phase, all] : waits)
    pairs +=
        std::sqrt(std::inner_product(all.begin(), all.end(), all.begin(), 0.0) / problem.ranks());
  for (const double each : busy)
    eighths += std::pow(each, 8);
  int moved = 0;
  for (std::size_t rank = 0; rank < problem.previous.size(); ++rank)
    moved += static_cast<int>(problem.previous[rank] != placement[rank]);
  return {Time(pairs), Time(std::pow(eighths, 1.0 / 8)),
          Time(Collectives(problem, placement).total()),
          problem.migration * (static_cast<double>(moved) / problem.ranks())};
}

/// The cost if all messages are waited for.
Cost cost_of_all(const Problem& problem, const Placement& placement) {
  const HostCosts costs(problem);
  return State(problem, costs, placement).cost();
}

void check_equal(const Cost& a, const Cost& b) {
  CHECK(a.pairs.value() == doctest::Approx(b.pairs.value()));
  CHECK(a.load.value() == doctest::Approx(b.load.value()));
  CHECK(a.collectives.value() == doctest::Approx(b.collectives.value()));
  CHECK(a.migration.value() == doctest::Approx(b.migration.value()));
}

TEST_CASE("a change of the cost is the difference of costs computed anew") {
  for (std::uint64_t seed = 0; seed < share_of(60U, 10); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const int hosts = 2 + draw.below(6);
    const Rank ranks = 4 + draw.below(16);
    const Network net = testing::uneven_network(hosts, draw);
    Problem problem{net,
                    {ranks, testing::random_traffic(ranks, 4 * ranks, draw)},
                    testing::some_slots(ranks, hosts, draw)};
    problem.calls = testing::some_calls(ranks, draw);
    problem.metric = static_cast<Metric>(draw.below(3));
    if (draw.below(2) == 0) {
      problem.previous = random(problem, seed + 100);
      problem.migration = Time(0.1);
    }
    const HostCosts costs(problem);
    State state(problem, costs, random(problem, seed));
    check_equal(state.cost(), slow_cost(problem, state.placement()));
    for (int step = 0; step < 30; ++step) {
      // Capacities don't matter here: up to three different ranks go anywhere.
      std::vector<Move> moves;
      for (int count = 1 + draw.below(3); count > 0; --count) {
        const Move move{draw.below(ranks), draw.below(hosts)};
        if (std::ranges::find(moves, move.rank, &Move::rank) == moves.end()) moves.push_back(move);
      }
      const double before = state.total();
      const double change = state.change(moves);
      CHECK(state.total() == before);
      state.apply(moves);
      for (const Move& move : moves)
        CHECK(state.host(move.rank) == move.to);
      const Cost anew = slow_cost(problem, state.placement());
      check_equal(state.cost(), anew);
      CHECK(before + change == doctest::Approx(anew.total().value()));
    }
  }
}

TEST_CASE("the price of a byte is what a little more of it costs") {
  Draw draw(3);
  const Network net = testing::uneven_network(4, draw);
  std::vector<Traffic> traffic = testing::random_traffic(8, 40, draw);
  const std::vector<std::int32_t> slots(4, 2);
  const Problem problem{net, {8, traffic}, slots};
  const HostCosts costs(problem);
  const Placement placement = block(problem);
  const State state(problem, costs, placement);
  const std::vector<double> prices = state.prices();
  double price = 0;
  costs.for_each_resource(placement[0], placement[7],
                          [&](std::size_t resource) { price += prices[resource]; });
  const double bytes = 10;
  traffic.push_back({0, 7, 0, bytes});
  const double more = cost({net, {8, traffic}, slots}, placement).load.value();
  CHECK((more - state.cost().load.value()) / bytes == doctest::Approx(price).epsilon(0.01));
}

TEST_CASE("the weight of a rank is what a little more of its waiting costs, if it waits long") {
  Draw draw(4);
  const Network net = testing::uneven_network(4, draw);
  std::vector<Traffic> traffic = testing::random_traffic(8, 20, draw);
  traffic.push_back({0, 7, 50, 1e6});
  const std::vector<std::int32_t> slots(4, 2);
  const Problem problem{net, {8, traffic}, slots};
  const HostCosts costs(problem);
  const Placement placement = block(problem);
  const State state(problem, costs, placement);
  const double messages = 1e-3;
  traffic.push_back({0, 7, messages, 0});
  const double more = cost_of_all({net, {8, traffic}, slots}, placement).pairs.value();
  const double waited = messages * net.latency(placement[0], placement[7]).value();
  CHECK((more - state.cost().pairs.value()) / waited ==
        doctest::Approx(state.weight(7, 0)).epsilon(0.01));
  for (Rank rank = 0; rank < 7; ++rank)
    CHECK(state.weight(rank, 0) < state.weight(7, 0));
}

TEST_CASE("ranks that wait alike cost less than one that waits for all of it") {
  const Network net = network::even_network(2, Time(1e-3), units::Rate(1e9));
  const std::vector<std::int32_t> slots{4, 4};
  const auto pairs = [&](std::vector<Traffic> traffic) {
    return cost_of_all({net, {8, std::move(traffic)}, slots}, {0, 0, 0, 0, 1, 1, 1, 1})
        .pairs.value();
  };
  const double alike = pairs({{0, 4, 2, 0},
                              {1, 5, 2, 0},
                              {2, 6, 2, 0},
                              {3, 7, 2, 0},
                              {4, 0, 2, 0},
                              {5, 1, 2, 0},
                              {6, 2, 2, 0},
                              {7, 3, 2, 0}});
  CHECK(alike == doctest::Approx(2e-3));
  // The mean is the same, and one waits eight times as long.
  CHECK(pairs({{0, 4, 16, 0}}) == doctest::Approx(16e-3 / std::sqrt(8.0)));
  // In different phases nobody waits at the same time as another one.
  CHECK(pairs({{0, 4, 16, 0, 0}, {1, 5, 16, 0, 1}}) == doctest::Approx(32e-3 / std::sqrt(8.0)));
  CHECK(pairs({{0, 4, 16, 0, 0}, {1, 5, 16, 0, 0}}) == doctest::Approx(16e-3 / 2));
}

TEST_CASE("a norm follows its values, and is computed anew where little is left of a sum") {
  Norm norm(3, 4);
  norm.add(0, 2);
  norm.add(1, 1);
  CHECK(norm.changed() == doctest::Approx(std::pow(17.0, 0.25)));
  CHECK(norm.kept() == 0);
  norm.keep();
  norm.add(0, 1);
  norm.forget();
  CHECK(norm.changed() == doctest::Approx(std::pow(17.0, 0.25)));
  CHECK(norm.slope(2) == 0);
  CHECK(norm.slope(0) == doctest::Approx(std::pow(2 / std::pow(17.0, 0.25), 3)));
  norm.add(0, 1e6);
  norm.keep();
  CHECK(!norm.is_uncertain());
  norm.add(0, -1e6 - 2);
  CHECK(norm.changed() == doctest::Approx(1));
  norm.keep();
  CHECK(norm.is_uncertain());
  norm.clear();
  CHECK(norm.kept() == 0);
  CHECK(!norm.is_uncertain());
}

TEST_CASE("only what flows in circles waits for each message") {
  const Network net = network::even_network(2, Time(1e-3), units::Rate(1e9));
  // 0 -> 1 -> 2 -> 1 is a circle of 1 and 2 behind a stream; 3 sends to itself through 4 and 5.
  Problem problem{net,
                  {6,
                   {{0, 1, 50, 7},
                    {1, 2, 50, 0},
                    {2, 1, 40, 0},
                    {3, 4, 9, 0},
                    {4, 5, 8, 0},
                    {5, 3, 7, 0},
                    {2, 4, 6, 0}}},
                  {3, 3}};
  const auto messages = [&](Rank from, Rank to) {
    for (const Traffic& each : without_streams(problem).entries())
      if (each.from == from && each.to == to) return each.messages;
    return 0.0;
  };
  CHECK(messages(0, 1) == 1);
  CHECK(messages(1, 2) == 50);
  CHECK(messages(2, 1) == 40);
  CHECK(messages(3, 4) == 9);
  CHECK(messages(5, 3) == 7);
  CHECK(messages(2, 4) == 1);
  CHECK(without_streams(problem).bytes() == 7);
  problem.calls = {{collective::Kind::barrier, 0, 3, 0, {}},
                   {collective::Kind::barrier, 0, 30, 0, {0, 1}}};
  CHECK(messages(0, 1) == 4);
  problem.communication = {2, {{0, 1, 50, 0}}};
  problem.calls.clear();
  const Placement apart{0, 1};
  CHECK(cost(problem, apart).pairs.value() == doctest::Approx(1e-3 / std::sqrt(2.0)));
  problem.metric = Metric::latency; // as CloudMap has it
  CHECK(cost(problem, apart).pairs.value() == doctest::Approx(50e-3 / std::sqrt(2.0)));
}

TEST_CASE("collectives cost more where their ranks are on more hosts, and nothing on one") {
  const Network net = network::even_network(4, Time(1e-4), units::Rate(1e8));
  Problem problem{net, {8, {}}, {8, 8, 8, 8}};
  problem.calls = {{collective::Kind::allreduce, 1000, 1, 0, {}}};
  const auto seconds = [&](const Placement& placement) {
    return Collectives(problem, placement).total();
  };
  CHECK(seconds(Placement(8, 2)) == 0);
  const double two = seconds({0, 0, 0, 0, 1, 1, 1, 1}), four = seconds({0, 0, 1, 1, 2, 2, 3, 3});
  // A latency of a flat tree, and the vector through a port, there and back.
  CHECK(two == doctest::Approx(1e-4 + 2 * 1000 / 1e8));
  CHECK(four == doctest::Approx(two));
}

TEST_CASE("trees are deeper where messages cost their ends more, and scans go in order") {
  Network net = network::even_network(8, Time(1e-4), units::Rate(1e8));
  Problem problem{net, {8, {}}, {1, 1, 1, 1, 1, 1, 1, 1}};
  problem.calls = {{collective::Kind::bcast, 1, 1, 0, {}}};
  const auto seconds = [&] { return Collectives(problem, block(problem)).total(); };
  const double flat = seconds();
  net.message_costs["some library"].send = Time(1e-4);
  const double deep = seconds();
  CHECK(flat == doctest::Approx(1e-4).epsilon(0.01));
  CHECK(deep > 1.5 * 2e-4);
  CHECK(deep < 3 * 2e-4);
  net.message_costs.clear();
  problem.calls.front().kind = collective::Kind::scan;
  CHECK(seconds() == doctest::Approx(3e-4).epsilon(0.01));
}

TEST_CASE("a direction that a collective doesn't use doesn't matter to it") {
  Network net = network::even_network(2, Time(1e-4), units::Rate(1e8));
  net.hosts[0].egress = net.hosts[1].ingress = units::Rate(1e6);
  net.hosts[0].ingress = net.hosts[1].egress = units::Rate(1e8);
  Problem problem{net, {2, {}}, {1, 1}};
  const auto seconds = [&](collective::Kind kind) {
    problem.calls = {{kind, 1000000, 1, 0, {}}};
    return Collectives(problem, {0, 1}).total();
  };
  CHECK(seconds(collective::Kind::bcast) == doctest::Approx(1.0001));
  CHECK(seconds(collective::Kind::reduce) == doctest::Approx(0.0101));
  CHECK(seconds(collective::Kind::gather) == doctest::Approx(0.0101));
  CHECK(seconds(collective::Kind::scatter) == doctest::Approx(1.0001));
}

TEST_CASE("calls of which each rank is the root once are judged as fast as of one root") {
  constexpr int hosts = 32, each = 8;
  const Network net = network::even_network(hosts, Time(1e-4), units::Rate(1e8));
  Problem problem{net, {hosts * each, {}}, std::vector<std::int32_t>(hosts, each)};
  for (Rank root = 0; root < problem.ranks(); ++root)
    problem.calls.push_back({collective::Kind::bcast, 1000, 1, root, {}});
  const Collectives collectives(problem, block(problem));
  const std::array<Move, 2> swap{{{0, 1}, {each, 0}}};
  CHECK(collectives.effort(swap) <= index(2 * hosts + problem.ranks()));
  CHECK(collectives.total() == doctest::Approx(problem.ranks() * (1e-4 + 1000 / 1e8)));
}

TEST_CASE("communicators that call at the same time take a rank no longer than one of them") {
  const Network net = network::even_network(4, Time(1e-4), units::Rate(1e8));
  Problem problem{net, {8, {}}, {2, 2, 2, 2}};
  const Placement placement{0, 1, 0, 1, 2, 3, 2, 3};
  problem.calls = {{collective::Kind::allreduce, 1000, 1, 0, {0, 1, 2, 3}},
                   {collective::Kind::allreduce, 1000, 1, 0, {4, 5, 6, 7}}};
  const double both = Collectives(problem, placement).total();
  CHECK(both == doctest::Approx(1e-4 + 2 * 1000 / 1e8));
  problem.calls.pop_back();
  CHECK(Collectives(problem, placement).total() == doctest::Approx(both / 2));
}

} // namespace
} // namespace thalweg::mapping
