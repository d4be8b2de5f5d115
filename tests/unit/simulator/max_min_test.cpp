#include "simulator/max_min.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <limits>
#include <random>

using thalweg::simulator::MaxMin;
using thalweg::simulator::PortId;

namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

std::vector<double> rates(const std::vector<double>& capacities,
                          const std::vector<std::vector<PortId>>& routes,
                          const std::vector<double>& limits) {
  std::vector<MaxMin::Flow> flows;
  for (std::size_t i = 0; i < routes.size(); ++i)
    flows.push_back({limits[i], routes[i], 0});
  MaxMin solver(capacities);
  solver.solve(flows);
  std::vector<double> result;
  for (const MaxMin::Flow& flow : flows)
    result.push_back(flow.rate);
  return result;
}

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
    std::mt19937 random(seed);
    const auto draw = [&](int below) {
      return static_cast<int>(random() % static_cast<unsigned>(below));
    };
    std::vector<double> capacities(static_cast<std::size_t>(1 + draw(6)));
    for (double& capacity : capacities)
      capacity = 1 + draw(100);
    std::vector<std::vector<PortId>> routes(static_cast<std::size_t>(1 + draw(12)));
    std::vector<double> limits;
    for (auto& route : routes) {
      for (std::size_t port = 0; port < capacities.size(); ++port)
        if (draw(3) == 0) route.push_back(static_cast<PortId>(port));
      limits.push_back(route.empty() || draw(3) == 0 ? 1 + draw(50) : unlimited);
    }
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
