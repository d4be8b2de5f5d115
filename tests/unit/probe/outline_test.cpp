#include "probe/options.hpp"
#include "probe/outline.hpp"

#include <doctest/doctest.h>
#include <utility>

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

TEST_CASE("networks of 16 and 128 hosts are known before native collectives would be late") {
  for (const auto& [hosts, promised] : {std::pair<HostId, Time>{16, Time(10)}, {128, Time(20)}}) {
    auto net = network::even_network(hosts, Time(1e-4), Rate(125e6));
    net.sites.resize(2);
    for (HostId host = 0; host < hosts; ++host)
      net.sites[host < hosts / 2 ? 0 : 1].push_back(host);
    for (const HostId from : net.sites[0])
      for (const HostId to : net.sites[1]) {
        net.latency.set(from, to, Time(10e-3));
        net.latency.set(to, from, Time(10e-3));
      }
    CHECK(usual_time(hosts) < promised); // so that there is time for the launch
    CHECK(total(outline(net, ProbeOptions().budget)) + least_native_time <= usual_time(hosts));
  }
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
