#pragma once

#include "mapping/mapping.hpp"
#include "mapping/problem.hpp"
#include "units/index.hpp"
#include "units/mix.hpp"

#include <cmath>
#include <numeric>

namespace thalweg::mapping::testing {

/// Numbers drawn from a seed.
class Draw {
public:
  explicit Draw(std::uint64_t seed) : _state(mix(seed)) {}
  int below(int count) {
    _state += mix_step;
    return static_cast<int>(mix(_state) % static_cast<std::uint64_t>(count));
  }
  double unit() { return below(1 << 20) / static_cast<double>(1 << 20); }

private:
  std::uint64_t _state;
};

inline bool needs_scotch(Method method) {
  return method == Method::scotch || method == Method::cloudmap_intra ||
         method == Method::cloudmap_inter;
}

/// Uneven and directed, in up to three sites, some hosts' ports and the sites' trunks limited.
inline Network uneven_network(int hosts, Draw& draw) {
  Network net = network::even_network(hosts, Time(1e-4), units::Rate(1e8));
  const int sites = 1 + draw.below(std::min(3, hosts));
  net.sites.assign(index(sites), {});
  std::vector<int> site_of;
  for (HostId host = 0; host < hosts; ++host) {
    site_of.push_back(host < sites ? host : draw.below(sites));
    net.sites[index(site_of.back())].push_back(host);
    const units::Rate port(draw.below(2) == 0 ? 1e8 * (1 + draw.unit())
                                              : std::numeric_limits<double>::infinity());
    net.hosts[index(host)].egress = port;
    net.hosts[index(host)].ingress = port;
  }
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = 0; b < hosts; ++b) {
      if (a == b) continue;
      const double far = site_of[index(a)] == site_of[index(b)] ? 1 : 10;
      net.latency.set(a, b, Time(1e-4 * far * (0.5 + draw.unit())));
      net.bandwidth.set(a, b, units::Rate(1e8 / far * (0.5 + draw.unit())));
    }
  if (sites > 1) net.trunks.push_back({"out", net.sites[0], net.sites[1], units::Rate(5e7)});
  return net;
}

inline std::vector<Traffic> random_traffic(Rank ranks, int pairs, Draw& draw) {
  std::vector<Traffic> traffic;
  for (int pair = 0; pair < pairs; ++pair)
    traffic.push_back({draw.below(ranks), draw.below(ranks), 1.0 + draw.below(50),
                       1000.0 * draw.below(1000), draw.below(3)});
  return traffic;
}

/// Slots from 0 to 4 for each host, enough for all ranks and, at times, more.
inline std::vector<std::int32_t> some_slots(Rank ranks, int hosts, Draw& draw) {
  std::vector<std::int32_t> slots(index(hosts));
  for (std::int32_t& each : slots)
    each = draw.below(5);
  while (std::accumulate(slots.begin(), slots.end(), 0) < ranks)
    ++slots[index(draw.below(hosts))];
  return slots;
}

/// Calls of all ranks, with several roots, and of halves of them.
inline std::vector<Call> some_calls(Rank ranks, Draw& draw) {
  using collective::Kind;
  std::vector<Call> calls;
  calls.push_back({Kind::allreduce, 1000, 10, 0, {}});
  std::vector<Rank> even;
  for (Rank rank = 0; rank < ranks; rank += 2)
    even.push_back(rank);
  const Rank root = draw.below(static_cast<int>(even.size()));
  calls.push_back({Kind::bcast, 100000, 5, root, even});
  calls.push_back({Kind::alltoall, 1000, 3, 0, even});
  for (Rank each = 0; each < ranks; each += 3)
    for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::gather, Kind::scatter})
      calls.push_back({kind, 1000, 1.0 + each, each, {}});
  return calls;
}

} // namespace thalweg::mapping::testing
