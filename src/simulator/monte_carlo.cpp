#include "simulator/monte_carlo.hpp"

#include "simulator/tree_time.hpp"
#include "units/index.hpp"
#include "units/mix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace thalweg::simulator {
namespace {

using collective::no_rank;

/// splitmix64.
class SplitMix {
public:
  explicit SplitMix(std::uint64_t seed) : _state(seed) {}
  /// Returns a number from 0 to below `limit`; its bias is below 2^-32 of the numbers.
  std::uint32_t below(std::uint32_t limit) {
    const std::uint64_t drawn = mix(_state);
    _state += mix_step;
    return static_cast<std::uint32_t>(((drawn >> 32) * limit) >> 32);
  }

private:
  std::uint64_t _state;
};

/// Draws one tree after another.
class Trees {
public:
  Trees(const collective::Collective& collective, const Draw& draw)
      : order(index(collective.ranks)), parents(index(collective.ranks), no_rank),
        _generator(draw.generator), _random(draw.seed), _ranks(index(collective.ranks)) {
    std::iota(_ranks.begin(), _ranks.end(), 0);
    std::swap(_ranks.front(), _ranks[index(collective.root)]);
    if (_generator == Generator::recursive) return;
    // The positions as they join, and their parents' positions: position p is below p without its
    // lowest bit. In each round every member serves one more.
    _positions = {0};
    _above = {0};
    for (std::size_t half = std::bit_ceil(_ranks.size()) / 2; half > 0; half /= 2)
      for (std::size_t node = 0; node + half < _ranks.size(); node += 2 * half) {
        _positions.push_back(node + half);
        _above.push_back(node);
      }
  }

  void next() {
    for (std::size_t i = _ranks.size(); i-- > 2;) // the root keeps its position
      std::swap(_ranks[i], _ranks[1 + _random.below(static_cast<std::uint32_t>(i))]);
    if (_generator == Generator::recursive) {
      order = _ranks;
      for (std::size_t i = 1; i < order.size(); ++i)
        parents[index(order[i])] = order[_random.below(static_cast<std::uint32_t>(i))];
      return;
    }
    order.front() = _ranks.front();
    for (std::size_t i = 1; i < order.size(); ++i) {
      order[i] = _ranks[_positions[i]];
      parents[index(order[i])] = _ranks[_above[i]];
    }
  }

  std::vector<Rank> order, parents;

private:
  Generator _generator;
  SplitMix _random;
  std::vector<Rank> _ranks;
  std::vector<std::size_t> _positions, _above;
};

/// Counts times; times with the same exponent and first bits of the fraction are counted together.
class Counter {
public:
  void add(double time) { ++_counts[std::bit_cast<std::uint64_t>(time) >> dropped]; }

  /// Returns the least time that the given part of all times doesn't exceed.
  [[nodiscard]] double quantile(double part, std::int64_t all) const {
    const auto wanted = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(all)));
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < _counts.size(); ++i)
      if ((seen += _counts[i]) >= std::max<std::int64_t>(1, wanted)) return middle(i);
    return 0;
  }
  [[nodiscard]] Histogram histogram(double low, double high, int bins) const {
    Histogram histogram{Time(low), Time((high - low) / bins), {}};
    histogram.counts.resize(static_cast<std::size_t>(bins));
    for (std::size_t i = 0; i < _counts.size(); ++i) {
      if (_counts[i] == 0) continue;
      const double place = high > low ? (middle(i) - low) / (high - low) * bins : 0;
      const double bin = std::clamp(std::floor(place), 0.0, bins - 1.0);
      histogram.counts[static_cast<std::size_t>(bin)] += _counts[i];
    }
    return histogram;
  }

private:
  static constexpr int fraction_bits = 52, kept = 10, dropped = fraction_bits - kept;
  static double middle(std::size_t i) {
    return std::bit_cast<double>((std::uint64_t{i} << dropped) +
                                 (std::uint64_t{1} << (dropped - 1)));
  }
  /// Times aren't negative, so the sign bit is unused.
  std::vector<std::int64_t> _counts = std::vector<std::int64_t>(std::size_t{1} << (63 - dropped));
};

void check(const Draw& draw) {
  constexpr std::int64_t most_trees = 100'000'000;
  constexpr int most_bins = 1'000'000;
  if (draw.count < 1 || draw.count > most_trees || draw.bins < 1 || draw.bins > most_bins)
    throw std::invalid_argument("a sample of " + std::to_string(draw.count) + " trees in " +
                                std::to_string(draw.bins) + " bins: must be from 1 to " +
                                std::to_string(most_trees) + " trees and " +
                                std::to_string(most_bins) + " bins");
  for (const double part : draw.quantiles)
    if (!(part >= 0 && part <= 1))
      throw std::invalid_argument("quantile " + std::to_string(part) + " isn't from 0 to 1");
}

} // namespace

Sample monte_carlo(const Problem& problem, const Draw& draw, const SimulationOptions& options) {
  check(draw);
  TreeTime time_of(problem, options);
  Trees trees(problem.collective, draw);
  Counter counter;
  Sample sample;
  sample.count = draw.count;
  sample.minimum = Time::infinity();
  double sum = 0;
  for (std::int64_t i = 0; i < draw.count; ++i) {
    trees.next();
    const Time time = time_of(trees.order, trees.parents);
    counter.add(time.value());
    sum += time.value();
    sample.maximum = std::max(sample.maximum, time);
    if (time >= sample.minimum) continue;
    sample.minimum = time;
    sample.order = trees.order;
    sample.parents = trees.parents;
  }
  const double low = sample.minimum.value(), high = sample.maximum.value();
  sample.mean = Time(sum / static_cast<double>(draw.count));
  for (const double part : draw.quantiles)
    sample.quantiles.emplace_back(std::clamp(counter.quantile(part, draw.count), low, high));
  sample.histogram = counter.histogram(low, high, draw.bins);
  return sample;
}

} // namespace thalweg::simulator
