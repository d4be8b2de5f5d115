#include "probe/clock_offsets.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <limits>

namespace thalweg::probe {
namespace {

/// A meeting as one of its two hosts sees it.
struct Acquaintance {
  std::size_t host = 0;
  Nanoseconds offset = 0, round_trip = 0;
};

std::vector<std::vector<Acquaintance>> acquaintances(std::size_t hosts,
                                                     std::span<const Meeting> meetings) {
  std::vector<std::vector<Acquaintance>> result(hosts);
  for (const auto& [pair, offset, round_trip] : meetings) {
    const std::size_t first = index(pair.first), second = index(pair.second);
    result[first].push_back({second, offset, round_trip});
    result[second].push_back({first, -offset, round_trip});
  }
  return result;
}

} // namespace

ClockOffsets clock_offsets(std::size_t hosts, std::span<const Meeting> meetings) {
  const auto known = acquaintances(hosts, meetings);
  constexpr auto never = std::numeric_limits<Nanoseconds>::max();
  std::vector<Nanoseconds> distance(hosts, never);
  std::vector<bool> done(hosts);
  ClockOffsets offsets(hosts);
  distance[0] = 0, offsets[0] = 0;
  for (std::size_t count = 0; count < hosts; ++count) {
    std::size_t nearest = hosts;
    for (std::size_t host = 0; host < hosts; ++host)
      if (!done[host] && distance[host] != never &&
          (nearest == hosts || distance[host] < distance[nearest]))
        nearest = host;
    if (nearest == hosts) break;
    done[nearest] = true;
    for (const auto& [host, offset, round_trip] : known[nearest]) {
      if (distance[nearest] + round_trip >= distance[host]) continue;
      distance[host] = distance[nearest] + round_trip;
      offsets[host] = *offsets[nearest] + offset;
    }
  }
  return offsets;
}

Round next_to_align(const ClockOffsets& offsets) {
  Round round;
  HostId known = 0;
  const auto hosts = static_cast<HostId>(offsets.size());
  for (HostId host = 0; host < hosts; ++host) {
    if (offsets[index(host)]) continue;
    while (known < hosts && !offsets[index(known)])
      ++known;
    if (known == hosts) break;
    round.push_back({known++, host});
  }
  return round;
}

} // namespace thalweg::probe
