#include "../bounds/schedules.hpp"
#include "networks.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <utility>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

/// Draws networks, placements and problems.
class Dice {
public:
  explicit Dice(std::uint32_t seed) : _engine(seed) {}
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(_engine()) / 4294967296.0;
  }
  int integer(int low, int high) {
    return low + static_cast<int>(_engine() % static_cast<unsigned>(high - low + 1));
  }
  double log_uniform(double low, double high) {
    return low * std::exp(uniform(0, std::log(high / low)));
  }

  Network network() {
    const HostId hosts = integer(2, 7);
    Network net = network::even_network(hosts, Time(1e-3), Rate(1e7));
    const bool capped = integer(0, 3) > 0;
    for (HostId from = 0; from < hosts; ++from) {
      auto& host = net.hosts[static_cast<std::size_t>(from)];
      if (capped) host.egress = Rate(log_uniform(1e6, 1e8));
      if (capped) host.ingress = Rate(log_uniform(1e6, 1e8));
      for (HostId to = 0; to < hosts; ++to) {
        if (from == to) continue;
        net.latency.set(from, to, Time(log_uniform(1e-5, 2e-2)));
        net.bandwidth.set(from, to, Rate(log_uniform(1e6, 1e8)));
      }
    }
    for (int trunks = integer(0, 2); trunks > 0; --trunks) {
      network::Trunk trunk{"trunk " + std::to_string(trunks), {}, {}, Rate(log_uniform(1e6, 1e8))};
      const HostId split = integer(1, hosts - 1);
      for (HostId host = 0; host < hosts; ++host)
        ((host < split) == (trunks == 1) ? trunk.from : trunk.to).push_back(host);
      net.trunks.push_back(trunk);
    }
    if (integer(0, 2) == 0) net.initial_window = static_cast<Size>(log_uniform(1000, 100000));
    net.message_costs["openmpi"] = {.send = Time(uniform(0, 2e-5)),
                                    .receive = Time(uniform(0, 2e-5)),
                                    .per_byte = Time(uniform(0, 1e-9)),
                                    .combine_per_byte = Time(uniform(0, 1e-9)),
                                    .eager_limit = integer(0, 100000)};
    return net;
  }
  /// Two halves with slow pairs between them, any of whose ports, trunks and sites may be known.
  Network halves() {
    const HostId hosts = integer(2, 6), split = integer(1, hosts - 1);
    Network net = network::even_network(hosts, Time(1e-3), Rate(1e7));
    const double slow = log_uniform(1e5, 1e7), port = log_uniform(1e6, 1e8);
    const int known_ports = integer(0, 2); // of 2
    net.sites.clear();
    if (integer(0, 1) == 0) net.sites.assign(2, {});
    network::Trunk there{"there", {}, {}, Rate(slow * uniform(0.5, 8))};
    for (HostId from = 0; from < hosts; ++from) {
      auto& host = net.hosts[static_cast<std::size_t>(from)];
      host.egress = integer(1, 2) <= known_ports ? Rate(port) : Rate::infinity();
      host.ingress = integer(1, 2) <= known_ports ? Rate(port) : Rate::infinity();
      if (!net.sites.empty()) net.sites[from < split ? 0 : 1].push_back(from);
      (from < split ? there.from : there.to).push_back(from);
      for (HostId to = 0; to < hosts; ++to) {
        if (from == to) continue;
        const bool crosses = (from < split) != (to < split);
        net.latency.set(from, to, Time(crosses ? uniform(5e-3, 2e-2) : uniform(0, 1e-3)));
        net.bandwidth.set(from, to, Rate(crosses ? slow * uniform(0.8, 1.2) : 1e7));
      }
    }
    if (integer(0, 1) == 0) net.trunks.push_back(there);
    net.message_costs["openmpi"] = {.send = Time(uniform(0, 2e-5)),
                                    .receive = Time(uniform(0, 2e-5)),
                                    .per_byte = Time(uniform(0, 1e-8)),
                                    .combine_per_byte = Time(uniform(0, 1e-8)),
                                    .eager_limit = integer(0, 100000)};
    return net;
  }
  /// One to three ranks on each host, in any order.
  Placement one_to_three_each(const Network& net) {
    Placement result;
    for (HostId host = 0; host < net.size(); ++host)
      result.insert(result.end(), static_cast<std::size_t>(integer(1, 3)), host);
    std::shuffle(result.begin(), result.end(), _engine);
    return result;
  }
  Placement placement(const Network& net) {
    if (integer(0, 1) == 0) return one_each(net.size());
    Placement result;
    for (int ranks = integer(2, 10); ranks > 0; --ranks)
      result.push_back(integer(0, net.size() - 1));
    return result;
  }

private:
  std::mt19937 _engine;
};

} // namespace

namespace {

using collective::kinds;

/// Sizes of blocks, some of them 0; or none for blocks of equal sizes.
std::vector<Size> draw_blocks(const collective::Collective& collective, Dice& dice) {
  std::vector<Size> sizes;
  if (collective.blocks() == 1 || dice.integer(0, 1) == 0) return sizes;
  for (collective::ChunkId block = 0; block < collective.blocks(); ++block)
    sizes.push_back(dice.integer(0, 2) == 0 ? 0 : static_cast<Size>(dice.log_uniform(1, 2e6)));
  return sizes;
}

/// A few blocks, perhaps on a single host.
std::vector<Size> draw_few_blocks(const collective::Collective& collective, Dice& dice) {
  std::vector<Size> sizes(static_cast<std::size_t>(collective.blocks()));
  for (int count = dice.integer(1, 3); count > 0; --count)
    sizes[static_cast<std::size_t>(dice.integer(0, static_cast<int>(sizes.size()) - 1))] =
        static_cast<Size>(dice.log_uniform(1, 2e6));
  return sizes;
}

/// Simulates a schedule in both fidelities, with the costs that the bounds count: no time is below
/// them. Returns the times.
std::pair<double, double> times_above(const Problem& drawn, const bounds::Bound& bound,
                                      const schedule::Schedule& schedule, Dice& dice) {
  CAPTURE(bound.reason);
  simulator::SimulationOptions options;
  options.window = dice.integer(1, 8);
  options.fidelity = simulator::Fidelity::fast;
  const double fast = simulator::simulate(drawn, schedule, options).time.value();
  options.fidelity = simulator::Fidelity::fluid;
  const double fluid = simulator::simulate(drawn, schedule, options).time.value();
  REQUIRE(fast >= bound.time.value() * (1 - 1e-9));
  REQUIRE(fluid >= bound.time.value() * (1 - 1e-9));
  const bounds::Bound with_slow_start = bounds::bound_with_slow_start(drawn);
  CAPTURE(with_slow_start.reason);
  REQUIRE(with_slow_start.time >= bound.time);
  REQUIRE(fluid >= with_slow_start.time.value() * (1 - 1e-9));
  return {fast, fluid};
}

void compare(const Problem& drawn, const bounds::Bound& bound, const schedule::Schedule& schedule,
             Dice& dice) {
  const auto [fast, fluid] = times_above(drawn, bound, schedule, dice);
  CHECK(fast <= 3 * fluid);
  if (drawn.network.initial_window == 0) CHECK(fluid <= 3 * fast);
}

/// Calls `check` with the schedules of all algorithms that can do the problem.
template <class Check>
void for_each_algorithm(const Problem& drawn, const Check& check) {
  for (const algorithms::Algorithm* algorithm : algorithms::all()) {
    if (!algorithm->can_do(drawn.collective)) continue;
    for (const Parameters& parameters : algorithm->candidates(drawn)) {
      const Skeleton skeleton = algorithm->build(drawn, parameters);
      CAPTURE(skeleton.algorithm);
      CAPTURE(parameters.segment_size);
      check(algorithms::expand(drawn.collective.kind, skeleton, drawn.collective.size));
    }
  }
}

/// Calls `check` with simple schedules of the problem.
template <class Check>
void for_each_toy(const Problem& drawn, std::uint32_t seed, const Check& check) {
  std::mt19937 random(seed);
  for (const auto& toy : bounds::testing::simple_schedules(drawn.collective, random)) {
    CAPTURE(toy.name);
    check(schedule::test::to_schedule(toy));
  }
}

} // namespace

TEST_CASE("no prediction beats the bound, and the two fidelities agree within reason") {
  for (std::uint32_t seed = 0; seed < test::share_of(80U, 8); ++seed) {
    Dice dice(seed);
    const Network net = dice.network();
    const Placement placement = dice.placement(net);
    const auto ranks = static_cast<Rank>(placement.size());
    const Kind kind =
        kinds[static_cast<std::size_t>(dice.integer(0, static_cast<int>(kinds.size()) - 1))];
    const Rank root = collective::is_rooted(kind) ? dice.integer(0, ranks - 1) : 0;
    const Size size = kind == Kind::barrier ? 0 : static_cast<Size>(dice.log_uniform(1, 2e6));
    const std::string library = dice.integer(0, 1) == 0 ? "openmpi" : "";
    CAPTURE(library);
    Problem drawn = algorithms::make_problem(
        {.kind = kind, .ranks = ranks, .root = root, .size = size}, net, placement, library);
    drawn.collective.block_sizes = draw_blocks(drawn.collective, dice);
    const bounds::Bound bound = bounds::bound(drawn);
    CAPTURE(seed);
    CAPTURE(collective::to_text(kind));
    const auto check = [&](const schedule::Schedule& schedule) {
      compare(drawn, bound, schedule, dice);
    };
    for_each_algorithm(drawn, check);
    for_each_toy(drawn, seed, check);
  }
}

TEST_CASE("no algorithm beats the bound, whatever is known of ports, pairs and sites") {
  for (std::uint32_t seed = 0; seed < test::share_of(120U, 12); ++seed) {
    Dice dice(seed);
    const Network net = dice.halves();
    const Placement placement = dice.one_to_three_each(net);
    const auto ranks = static_cast<Rank>(placement.size());
    const Kind kind = kinds[seed % kinds.size()];
    const Rank root = collective::is_rooted(kind) ? dice.integer(0, ranks - 1) : 0;
    const Size size = kind == Kind::barrier ? 0 : static_cast<Size>(dice.log_uniform(1, 2e6));
    Problem drawn =
        algorithms::make_problem({.kind = kind, .ranks = ranks, .root = root, .size = size}, net,
                                 placement, dice.integer(0, 1) == 0 ? "openmpi" : "");
    if (drawn.collective.blocks() > 1)
      drawn.collective.block_sizes = dice.integer(0, 1) == 0
                                         ? draw_few_blocks(drawn.collective, dice)
                                         : draw_blocks(drawn.collective, dice);
    const bounds::Bound bound = bounds::bound(drawn);
    CAPTURE(seed);
    CAPTURE(collective::to_text(kind));
    const auto check = [&](const schedule::Schedule& schedule) {
      times_above(drawn, bound, schedule, dice);
    };
    for_each_algorithm(drawn, check);
    for_each_toy(drawn, seed, check);
  }
}

TEST_CASE("no schedule of few blocks between many hosts beats the bound") {
  const HostId hosts = 130; // more than cuts are looked for
  for (std::uint32_t seed = 0; seed < test::share_of(12U, 3); ++seed) {
    Dice dice(seed);
    Network net = network::even_network(hosts, Time(1e-4), Rate(1e8));
    for (int far = dice.integer(1, 3); far > 0; --far) {
      const HostId away = dice.integer(0, hosts - 1);
      for (HostId host = 0; host < hosts; ++host)
        if (host != away)
          for (const auto& [from, to] : {std::pair{host, away}, std::pair{away, host}})
            net.latency.set(from, to, Time(dice.uniform(1e-3, 5e-2)));
    }
    for (const Kind kind :
         {Kind::alltoall, Kind::allgather, Kind::reduce_scatter, Kind::gather, Kind::scatter}) {
      Problem drawn = algorithms::make_problem({.kind = kind, .ranks = hosts, .size = 1000}, net,
                                               one_each(hosts), "");
      drawn.collective.block_sizes = draw_few_blocks(drawn.collective, dice);
      const bounds::Bound bound = bounds::bound(drawn);
      CAPTURE(seed);
      CAPTURE(collective::to_text(kind));
      for_each_toy(drawn, seed, [&](const schedule::Schedule& schedule) {
        times_above(drawn, bound, schedule, dice);
      });
    }
  }
}
