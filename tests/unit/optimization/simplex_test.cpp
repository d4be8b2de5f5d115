#include "optimization/simplex.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <random>

namespace thalweg::optimization {
namespace {

using Load = std::vector<double>;

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Columns, and what the simplex method makes of them.
class Solved {
public:
  Solved(std::size_t rows, const std::vector<Load>& columns) : _simplex(rows) {
    for (const Load* load = cheapest(columns); cost(*load) < 1 - 1e-9; load = cheapest(columns)) {
      CHECK(_simplex.enter(*load) == _entered.size());
      _entered.push_back(*load);
      REQUIRE(_entered.size() < 1000);
    }
  }

  [[nodiscard]] double rate() const { return sum(_simplex.rates()); }

  /// Duality proves rates optimal: they fit, and prices at which no column costs less than 1, as
  /// there are none left, add up to no more.
  void check() const {
    Load load(_simplex.prices().size(), 0);
    const std::vector<double> rates = _simplex.rates();
    REQUIRE(rates.size() == _entered.size());
    for (std::size_t column = 0; column < rates.size(); ++column) {
      CHECK(rates[column] >= 0);
      for (std::size_t row = 0; row < load.size(); ++row)
        load[row] += rates[column] * _entered[column][row];
    }
    CHECK(std::ranges::max(load) <= 1 + 1e-6);
    CHECK(std::ranges::min(_simplex.prices()) >= -1e-6);
    CHECK(sum(_simplex.prices()) == doctest::Approx(rate()).epsilon(1e-6));
  }

private:
  [[nodiscard]] double cost(const Load& load) const {
    return std::inner_product(load.begin(), load.end(), _simplex.prices().begin(), 0.0);
  }
  [[nodiscard]] const Load* cheapest(const std::vector<Load>& columns) const {
    return &*std::ranges::min_element(columns, {}, [&](const Load& load) { return cost(load); });
  }

  Simplex _simplex;
  std::vector<Load> _entered;
};

TEST_CASE("the simplex method finds the best rates of columns") {
  // Two capacities; a column uses both, or half of one: 2 + 2 of the latter beat the former's 1.
  Simplex simplex(2);
  CHECK(simplex.prices() == std::vector<double>{0, 0});
  simplex.enter({1, 1});
  CHECK(sum(simplex.prices()) == doctest::Approx(1));
  simplex.enter({0.5, 0});
  simplex.enter({0, 0.5});
  CHECK(sum(simplex.rates()) == doctest::Approx(4));
  CHECK(simplex.prices()[0] == doctest::Approx(2));
  CHECK(simplex.prices()[1] == doctest::Approx(2));
}

TEST_CASE("the pairs of neighbours in a ring are packed at half the number of nodes") {
  for (const std::size_t nodes : {3, 4, 5, 9, 20}) {
    CAPTURE(nodes);
    std::vector<Load> columns(nodes, Load(nodes, 0));
    for (std::size_t node = 0; node < nodes; ++node)
      columns[node][node] = columns[node][(node + 1) % nodes] = 1;
    const Solved solved(nodes, columns);
    solved.check();
    CHECK(solved.rate() == doctest::Approx(static_cast<double>(nodes) / 2));
  }
}

TEST_CASE("rates are optimal where columns are alike and capacities are full at once") {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const std::size_t rows = 1 + random() % 6;
    std::vector<Load> columns(1 + random() % 12, Load(rows, 0));
    for (Load& load : columns) {
      for (double& each : load)
        each = static_cast<double>(random() % 3);
      load[random() % rows] = 1; // not all 0
    }
    Solved(rows, columns).check();
  }
}

} // namespace
} // namespace thalweg::optimization
