#include "probe/rounds.hpp"

#include <algorithm>

namespace thalweg::probe {

std::vector<Round> rounds(HostId hosts) {
  if (hosts < 2) return {};
  // One seat is fixed, the others turn around a circle; an odd host out meets the empty seat.
  const HostId seats = hosts + hosts % 2;
  const HostId circle = seats - 1;
  std::vector<Round> result(static_cast<std::size_t>(circle));
  for (HostId turn = 0; turn < circle; ++turn) {
    auto& round = result[static_cast<std::size_t>(turn)];
    if (circle < hosts) round.push_back({turn, circle});
    for (HostId k = 1; k < seats / 2; ++k)
      round.push_back({(turn + k) % circle, (turn + circle - k) % circle});
  }
  return result;
}

std::size_t affordable_rounds(std::size_t all, units::Time time) {
  const units::Time shortest_turn{30e-3}; // of a pair
  return std::min(all, static_cast<std::size_t>(std::max(time / shortest_turn, 1.0)));
}

} // namespace thalweg::probe
