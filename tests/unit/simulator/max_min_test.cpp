#include "simulator/max_min.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <limits>
#include <random>

using thalweg::simulator::MaxMin;
using thalweg::simulator::PortId;

namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

using Routes = std::vector<std::vector<PortId>>;

std::vector<double> rates(const std::vector<double>& capacities, const Routes& routes,
                          const std::vector<double>& limits) {
  MaxMin solver(capacities, routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i)
    solver.add(static_cast<MaxMin::FlowId>(i), limits[i], routes[i]);
  solver.solve();
  std::vector<double> result;
  for (std::size_t i = 0; i < routes.size(); ++i)
    result.push_back(solver.rate(static_cast<MaxMin::FlowId>(i)));
  return result;
}

struct Drawn {
  explicit Drawn(std::uint32_t seed, int most_flows = 12) : random(seed) {
    capacities.resize(static_cast<std::size_t>(1 + draw(6)));
    for (double& capacity : capacities)
      capacity = 1 + draw(100);
    routes.resize(static_cast<std::size_t>(1 + draw(most_flows)));
    for (auto& route : routes) {
      for (std::size_t port = 0; port < capacities.size(); ++port)
        if (draw(3) == 0) route.push_back(static_cast<PortId>(port));
      limits.push_back(route.empty() || draw(3) == 0 ? 1 + draw(50) : unlimited);
    }
  }
  int draw(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }

  std::mt19937 random;
  std::vector<double> capacities;
  Routes routes;
  std::vector<double> limits;
};

} // namespace

TEST_CASE("flows share ports max-min fairly") {
  // Port 0 (capacity 1) carries flows 0 and 1: 1/2 each. Port 1 (capacity 2) carries 1 and 2: flow
  // 2 gets the rest, 3/2. Flow 3 is alone and limited by itself.
  const auto result = rates({1, 2}, {{0}, {0, 1}, {1}, {}}, {unlimited, unlimited, unlimited, 7});
  CHECK(result[0] == doctest::Approx(0.5));
  CHECK(result[1] == doctest::Approx(0.5));
  CHECK(result[2] == doctest::Approx(1.5));
  CHECK(result[3] == doctest::Approx(7));
}

TEST_CASE("a flow's own limit leaves more to the others") {
  const auto result = rates({3}, {{0}, {0}, {0}}, {0.5, unlimited, unlimited});
  CHECK(result[0] == doctest::Approx(0.5));
  CHECK(result[1] == doctest::Approx(1.25));
  CHECK(result[2] == doctest::Approx(1.25));
}

TEST_CASE("a port named twice carries the flow twice") {
  CHECK(rates({3}, {{0, 0}, {0}}, {unlimited, unlimited})[0] == doctest::Approx(1));
}

TEST_CASE("each flow has its limit or a full port on which none is faster") {
  // What defines max-min fairness (Bertsekas and Gallager, Data Networks, section 6.5).
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Drawn drawn(seed);
    const auto& [random, capacities, routes, limits] = drawn;
    const auto result = rates(capacities, routes, limits);

    std::vector<double> load(capacities.size(), 0), fastest(capacities.size(), 0);
    for (std::size_t flow = 0; flow < routes.size(); ++flow)
      for (const PortId port : routes[flow]) {
        const auto p = static_cast<std::size_t>(port);
        load[p] += result[flow];
        fastest[p] = std::max(fastest[p], result[flow]);
      }
    for (std::size_t port = 0; port < capacities.size(); ++port)
      CHECK(load[port] <= capacities[port] * (1 + 1e-9));
    for (std::size_t flow = 0; flow < routes.size(); ++flow) {
      const bool held = std::any_of(routes[flow].begin(), routes[flow].end(), [&](PortId port) {
        const auto p = static_cast<std::size_t>(port);
        return load[p] >= capacities[p] * (1 - 1e-9) && result[flow] >= fastest[p] * (1 - 1e-9);
      });
      CHECK((held || result[flow] == limits[flow]));
    }
  }
}

TEST_CASE("rates don't depend on the flows that were there before") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Drawn drawn(seed, 40);
    const std::size_t flows = drawn.routes.size();
    MaxMin solver(drawn.capacities, flows);
    std::vector<char> is_there(flows);
    std::vector<double> known(flows);
    for (int change = 0; change < 100; ++change) {
      for (int together = 1 + drawn.draw(3); together > 0; --together) {
        const auto i = static_cast<std::size_t>(drawn.draw(static_cast<int>(flows)));
        const auto id = static_cast<MaxMin::FlowId>(i);
        if (is_there[i] != 0)
          solver.remove(id);
        else
          solver.add(id, drawn.limits[i], drawn.routes[i]);
        is_there[i] = is_there[i] == 0;
        known[i] = 0;
      }
      for (const MaxMin::FlowId id : solver.solve())
        known[static_cast<std::size_t>(id)] = solver.rate(id);

      Routes routes;
      std::vector<double> limits, expected, found;
      for (std::size_t i = 0; i < flows; ++i) {
        if (is_there[i] == 0) continue;
        routes.push_back(drawn.routes[i]);
        limits.push_back(drawn.limits[i]);
        found.push_back(known[i]);
      }
      expected = rates(drawn.capacities, routes, limits);
      for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-8));
    }
  }
}
