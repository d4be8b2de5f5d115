#include "../bounds/schedules.hpp"
#include "networks.hpp"
#include "unit/share.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <random>

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

/// Both fidelities' times of a schedule, with the costs that the bound counts.
void compare(const Problem& drawn, const bounds::Bound& bound, const schedule::Schedule& schedule,
             Dice& dice) {
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
  CHECK(fast <= 3 * fluid);
  if (drawn.network.initial_window == 0) CHECK(fluid <= 3 * fast);
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
    for (const algorithms::Algorithm* algorithm : algorithms::all()) {
      if (!algorithm->can_do(drawn.collective)) continue;
      for (const Parameters& parameters : algorithm->candidates(drawn)) {
        const Skeleton skeleton = algorithm->build(drawn, parameters);
        CAPTURE(skeleton.algorithm);
        CAPTURE(parameters.segment_size);
        compare(drawn, bound, algorithms::expand(kind, skeleton, size), dice);
      }
    }
    std::mt19937 random(seed);
    for (const auto& toy : bounds::testing::simple_schedules(drawn.collective, random)) {
      CAPTURE(toy.name);
      compare(drawn, bound, schedule::test::to_schedule(toy), dice);
    }
  }
}
