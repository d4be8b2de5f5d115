#include "probe/outline.hpp"

#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::probe;
using network::HostId;
using units::Rate;
using units::Time;

namespace {

Time total(const std::vector<Phase>& phases) {
  Time sum(0);
  for (const auto& phase : phases)
    sum += phase.time;
  return sum;
}

const Phase& find(const std::vector<Phase>& phases, const std::string& name) {
  for (const auto& phase : phases)
    if (phase.name == name) return phase;
  FAIL(name);
  return phases.front();
}

} // namespace

TEST_CASE("hosts that are alike: all latencies, and flows that reach every host twice") {
  const auto phases = outline(network::even_network(128, Time(1e-4), Rate(125e6)), Time(30));
  const auto& latency = find(phases, "latency");
  CHECK(latency.rounds == 127);
  CHECK(latency.at_once == 64);
  CHECK(latency.measured == 128 * 127 / 2);
  const auto& rest = find(phases, "bandwidth: the rest");
  CHECK(rest.measured + find(phases, "bandwidth: a sample").measured == 2 * 128);
  CHECK(rest.at_once > 1);
  CHECK(total(phases) < Time(30));
}

TEST_CASE("more hosts take longer, up to a limit") {
  CHECK(usual_time(2) == usual_time(16));
  CHECK(usual_time(16) < usual_time(64));
  CHECK(usual_time(64) < usual_time(128));
  CHECK(usual_time(128) == usual_time(5000));
}

TEST_CASE("no phase outlasts its share of the budget, however many hosts there are") {
  const auto net = network::even_network(2048, Time(1e-4), Rate(125e6));
  for (const Time budget : {Time(5), Time(30), Time(100)}) {
    const auto phases = outline(net, budget);
    CHECK(total(phases) <= budget * repeats_end);
    const auto& latency = find(phases, "latency");
    CHECK(latency.measured < latency.of);
    CHECK(latency.rounds >= 1);
  }
}

TEST_CASE("unlike flows are all measured; one at a time between sites of one host") {
  auto net = network::even_network(4, Time(1e-4), Rate(125e6));
  net.sites = {{0, 1}, {2}, {3}};
  net.bandwidth.set(0, 2, Rate(50e6));
  const auto phases = outline(net, Time(60));
  std::size_t flows = 0;
  for (const auto& phase : phases)
    if (phase.name.starts_with("bandwidth: ") && phase.of == 12) flows += phase.measured;
  CHECK(flows == 12);
}

TEST_CASE("one host needs no measurement") {
  CHECK(outline(network::even_network(1, Time(1e-4), Rate(125e6)), Time(30)).empty());
}
