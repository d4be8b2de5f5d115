#include "adapting/programs.hpp"

#include "units/index.hpp"

#include <numeric>

namespace thalweg::test {
namespace {

constexpr double dilation = 4;

} // namespace

using network::HostId;
using runtime::Cause;

Network three_sites() {
  const std::vector<HostId> sizes = {3, 5, 8};
  const double latency_ms[3][3] = {{0, 4, 12}, {5, 0, 20}, {12, 17, 0}};
  const double trunk_mbps[3][3] = {{0, 200, 250}, {150, 0, 300}, {120, 400, 0}};
  const auto rate = [](double mbps) { return units::Rate(mbps * 1e6 / 8 / dilation); };
  Network net = network::even_network(16, units::Time(1e-4 * dilation), rate(100));
  net.sites.clear();
  HostId host = 0;
  for (const HostId size : sizes) {
    net.sites.emplace_back(index(size));
    std::iota(net.sites.back().begin(), net.sites.back().end(), host);
    host += size;
  }
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b) {
      if (a == b) continue;
      for (const HostId from : net.sites[a])
        for (const HostId to : net.sites[b])
          net.latency.set(from, to, units::Time(latency_ms[a][b] * 1e-3 * dilation));
      net.trunks.push_back({.name = std::to_string(a) + "-" + std::to_string(b),
                            .from = net.sites[a],
                            .to = net.sites[b],
                            .capacity = rate(trunk_mbps[a][b])});
    }
  return net;
}

Cause ten_times(Cause::What what, std::int32_t from) {
  return {.what = what, .from = from, .factor = 10};
}

Story story_of(const Network& net, const Shapes& shapes, std::uint64_t seed) {
  Story story;
  story.planned = net;
  story.shapes = shapes;
  story.clock_error_s = 0.04;
  story.skew_s = 2e-3;
  story.seed = seed;
  story.changes = {{0, net}};
  return story;
}

std::size_t calls_in(double seconds, Story story, const Plans& plans) {
  story.calls = 60;
  return static_cast<std::size_t>(60 * seconds / run(story, Mode::stays, plans).seconds());
}

} // namespace thalweg::test
