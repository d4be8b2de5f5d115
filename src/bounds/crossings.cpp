#include "bounds/crossings.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace thalweg::bounds {

Crossings::Crossings(const std::vector<Carrier>& trunks, MemberId members, std::int32_t preferred)
    : _trunks(trunks), _order(trunks.size()), _trunk(index(members), no_trunk) {
  std::iota(_order.begin(), _order.end(), 0);
  std::ranges::stable_sort(_order, [&](std::int32_t a, std::int32_t b) {
    if ((a == preferred) != (b == preferred)) return a == preferred;
    return trunks[index(a)].capacity < trunks[index(b)].capacity;
  });
  for (const std::int32_t trunk : _order)
    for (const MemberId from : trunks[index(trunk)].from)
      for (const MemberId to : trunks[index(trunk)].to)
        if (_trunk(from, to) == no_trunk) _trunk(from, to) = trunk;
}

std::vector<Hub> Crossings::hubs(bool separate) const {
  const std::vector<char> nobody(_trunk.size());
  std::vector<Hub> hubs;
  for (const std::int32_t trunk : _order) {
    std::map<std::vector<char>, Hub> of_trunk; // by receivers if separate
    for (const MemberId from : _trunks[index(trunk)].from) {
      std::vector<char> receivers = nobody;
      for (const MemberId to : _trunks[index(trunk)].to)
        if (_trunk(from, to) == trunk) receivers[index(to)] = 1;
      if (receivers == nobody) continue;
      Hub& hub = of_trunk.try_emplace(separate ? receivers : nobody, Hub{trunk, nobody, nobody})
                     .first->second;
      hub.sends[index(from)] = 1;
      std::ranges::transform(receivers, hub.receives, hub.receives.begin(), std::bit_or<char>());
    }
    for (auto& [receivers, hub] : of_trunk)
      hubs.push_back(std::move(hub));
  }
  return hubs;
}

} // namespace thalweg::bounds
