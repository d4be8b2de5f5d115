#include "simulator/event_queue.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <random>
#include <set>
#include <utility>

using namespace thalweg::simulator;

namespace {

/// Pushes and pops at random; each event comes a delay after the one popped last, as in a
/// simulation. Returns whether all are popped in the order of (time, push).
template <class Delay>
bool keeps_order(unsigned seed, Delay delay) {
  std::mt19937 draw(seed);
  EventQueue queue;
  std::set<std::pair<double, std::int32_t>> expected;
  double now = 0;
  std::int32_t pushed = 0;
  std::size_t most = 1 + draw() % 3000;
  for (int step = 0; step < 20000; ++step) {
    if (draw() % 1000 == 0) most = 1 + draw() % 3000;
    if (expected.size() < most && (expected.empty() || draw() % 2 == 0)) {
      const double time = now + delay(draw);
      queue.push(time, EventKind::ready, pushed);
      expected.emplace(time, pushed++);
      continue;
    }
    if (queue.empty() || queue.next_time() != expected.begin()->first) return false;
    const TimedEvent event = queue.pop();
    if (std::pair(event.time, event.id) != *expected.begin()) return false;
    expected.erase(expected.begin());
    if (std::isfinite(event.time)) now = event.time;
  }
  return queue.empty() == expected.empty();
}

} // namespace

TEST_CASE("events come in the order of their times, and equal times in that of their pushes") {
  using Draw = std::mt19937;
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    CHECK(
        keeps_order(seed, [](Draw& draw) { return 1e-3 * static_cast<double>(draw() % 100000); }));
    CHECK(keeps_order(seed, [](Draw& draw) { return draw() % 4 == 0 ? 0.5 : 0.0; }));
    CHECK(
        keeps_order(seed, [](Draw& draw) { return std::exp2(-static_cast<double>(draw() % 60)); }));
    CHECK(keeps_order(seed, [](Draw& draw) {
      return draw() % 50 == 0 ? std::numeric_limits<double>::infinity()
                              : static_cast<double>(draw() % 7);
    }));
  }
}
