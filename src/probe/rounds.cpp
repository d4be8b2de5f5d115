#include "probe/rounds.hpp"

#include <algorithm>

namespace thalweg::probe {

std::vector<Round> rounds(HostId hosts) {
  if (hosts < 2) return {};
  // One seat is fixed, the others turn around a circle; an odd host out meets the empty seat.
  const auto circle = static_cast<HostId>(count_of_rounds(hosts));
  const HostId seats = circle + 1;
  std::vector<Round> result(count_of_rounds(hosts));
  for (HostId turn = 0; turn < circle; ++turn) {
    auto& round = result[static_cast<std::size_t>(turn)];
    if (circle < hosts) round.push_back({turn, circle});
    for (HostId k = 1; k < seats / 2; ++k)
      round.push_back({(turn + k) % circle, (turn + circle - k) % circle});
  }
  return result;
}

std::size_t count_of_rounds(HostId hosts) {
  return hosts < 2 ? 0 : static_cast<std::size_t>(hosts - 1 + hosts % 2);
}

std::vector<Round> rounds_of(std::span<const Pair> pairs) {
  std::vector<Round> result;
  const auto has = [](const Round& round, auto wanted) {
    return std::ranges::any_of(round, wanted);
  };
  for (const Pair pair : pairs) {
    const auto same = [pair](Pair other) {
      return other == pair || other == Pair{pair.second, pair.first};
    };
    if (std::ranges::any_of(result, [&](const Round& round) { return has(round, same); })) continue;
    const auto busy = [pair](Pair other) {
      return other.first == pair.first || other.first == pair.second ||
             other.second == pair.first || other.second == pair.second;
    };
    const auto free =
        std::ranges::find_if(result, [&](const Round& round) { return !has(round, busy); });
    (free != result.end() ? *free : result.emplace_back()).push_back(pair);
  }
  return result;
}

std::vector<Round> split(std::span<const Round> rounds, std::size_t pairs) {
  std::vector<Round> result;
  for (const Round& round : rounds)
    for (std::span<const Pair> rest = round; !rest.empty();) {
      const auto part = rest.first(std::min(pairs, rest.size()));
      result.emplace_back(part.begin(), part.end());
      rest = rest.subspan(part.size());
    }
  return result;
}

std::size_t affordable_rounds(std::size_t all, units::Time time) {
  const units::Time shortest_turn{30e-3}; // of a pair
  return std::min(all, static_cast<std::size_t>(std::max(time / shortest_turn, 1.0)));
}

} // namespace thalweg::probe
