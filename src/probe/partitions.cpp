#include "probe/partitions.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace thalweg::probe {
namespace {

/// Flows that get at least this fraction of the most that was seen have filled the same capacity.
constexpr double as_much = 0.92;
/// Places along a path that are closer than this, relative to its length, can't be told apart.
constexpr double same_place = 0.05;

using Part = std::vector<bool>; ///< of the sites

Part complement(Part part) {
  part.flip();
  return part;
}

std::size_t smaller_side(const Part& part) {
  const auto count = static_cast<std::size_t>(std::ranges::count(part, true));
  return std::min(count, part.size() - count);
}

/// Returns each site by itself, the sites on one side of each link on the path from the first site
/// to any other, if latencies were those of a tree, and all others for each; the smallest first.
std::vector<Part> parts_of(const Sites& sites, const Latencies& latencies) {
  const auto count = sites.size();
  const auto distance = [&](std::size_t a, std::size_t b) {
    return a == b ? 0.0
                  : static_cast<double>(latencies.round_trip(sites[a].front(), sites[b].front()));
  };
  std::set<Part> parts;
  const auto insert = [&](const Part& part) {
    if (smaller_side(part) == 0) return;
    parts.insert(part);
    parts.insert(complement(part));
  };
  for (std::size_t far = 0; far < count; ++far) {
    Part part(count);
    part[far] = true;
    insert(part);
    const auto place = [&](std::size_t s) { return distance(s, 0) - distance(s, far); };
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, place);
    part.assign(count, false);
    for (std::size_t i = 0; i + 1 < count; ++i) {
      part[order[i]] = true;
      if (place(order[i + 1]) - place(order[i]) > 2 * same_place * distance(0, far)) insert(part);
    }
  }
  std::vector<Part> result(parts.begin(), parts.end());
  std::ranges::stable_sort(result, {}, smaller_side);
  return result;
}

FilledTrunk between(const Part& part, const Sites& sites) {
  FilledTrunk trunk;
  for (std::size_t s = 0; s < sites.size(); ++s) {
    auto& end = part[s] ? trunk.from : trunk.to;
    end.insert(end.end(), sites[s].begin(), sites[s].end());
  }
  std::ranges::sort(trunk.from);
  std::ranges::sort(trunk.to);
  return trunk;
}

/// What the flows of a trunk got in a crowd that has some of them.
struct Share {
  std::size_t crowd = 0; ///< index of the observation
  Observation seen;
  Rate expected{0};
};

/// A flow in a crowd.
struct Place {
  std::size_t crowd = 0, flow = 0;
};

/// Supposes one trunk after the other, each of which explains what those before leave.
class Suppositions {
public:
  Suppositions(const Evidence& evidence, const Sites& sites, const Latencies& latencies,
               const Judge& judge)
      : _evidence(evidence), _latencies(latencies), _sites(sites), _site(sites), _judge(judge),
        _expected(evidence.observations().size()) {
    for (std::size_t k = 0; k < _expected.size() && has_time(); ++k)
      predict(k);
  }

  /// Goes through trunks from each part of the sites to the rest. @return whether to go on
  bool consider(const std::vector<Part>& parts) {
    return std::ranges::all_of(parts, [&](const Part& part) {
      return has_time() && consider(between(part, _sites), shares_of(part));
    });
  }
  /// Goes through trunks from one site to one other that crowds have flows of.
  void consider_pairs() {
    if (!has_time()) return;
    for (const auto& [ends, places] : places_by_sites())
      if (!has_time() ||
          !consider({{_sites[ends.first], _sites[ends.second]}, Rate(0), {}}, shares_of(places)))
        return;
  }

private:
  /// Whether there is time, and was for all predictions.
  [[nodiscard]] bool has_time() { return _has_time = _has_time && _evidence.has_time(); }
  void predict(std::size_t crowd) {
    _expected[crowd] = _evidence.predict(_evidence.observations()[crowd].flows);
  }
  bool consider(FilledTrunk trunk, const std::vector<Share>& shares);
  void add(Place place, std::vector<Share>& shares) const;
  [[nodiscard]] std::vector<Share> shares_of(const Part& part) const;
  [[nodiscard]] std::vector<Share> shares_of(const std::vector<Place>& places) const;
  [[nodiscard]] std::map<SitePair, std::vector<Place>> places_by_sites() const;
  [[nodiscard]] std::optional<SitePair> main_pair(const std::vector<Flow>& flows) const;

  Evidence _evidence; ///< with the trunks that are supposed
  const Latencies& _latencies;
  const Sites& _sites;
  SiteOf _site;
  const Judge& _judge;
  std::vector<std::vector<Rate>> _expected; ///< by observation, by flow
  bool _has_time = true;
};

/// Supposes a trunk if its flows got less than expected in the crowd in which they got most.
/// @return whether to go on
bool Suppositions::consider(FilledTrunk trunk, const std::vector<Share>& shares) {
  for (const auto& share : shares)
    trunk.capacity = std::max(trunk.capacity, share.seen.total());
  Supposition supposed{std::move(trunk)};
  const auto& capacity = supposed.trunk.capacity;
  std::set<SitePair> site_pairs;
  for (const auto& [crowd, seen, expected] : shares) {
    if (seen.total() < capacity * as_much || !filled(seen.total(), expected)) continue;
    ++supposed.crowds;
    if (supposed.trunk.crowd.empty()) supposed.trunk.crowd = seen.flows;
    const auto main = main_pair(seen.flows);
    supposed.is_joint |= !main;
    if (!main) continue;
    site_pairs.insert(*main);
    supposed.is_even |= !any_is_free(_evidence, _latencies, seen, capacity);
  }
  supposed.site_pairs = site_pairs.size();
  if (supposed.crowds == 0) return true;
  _evidence.trunks.push_back(supposed.trunk);
  if (!_judge(std::move(supposed))) return false;
  for (const auto& share : shares) // Crowds without flows of the trunk are as before.
    if (has_time()) predict(share.crowd);
  return true;
}

/// Adds a flow to the share of its crowd: the last one, or a new one.
void Suppositions::add(Place place, std::vector<Share>& shares) const {
  if (shares.empty() || shares.back().crowd != place.crowd)
    shares.emplace_back().crowd = place.crowd;
  auto& share = shares.back();
  const auto& seen = _evidence.observations()[place.crowd];
  share.seen.flows.push_back(seen.flows[place.flow]);
  share.seen.each.push_back(seen.each[place.flow]);
  share.expected += _expected[place.crowd][place.flow];
}

std::vector<Share> Suppositions::shares_of(const Part& part) const {
  std::vector<Share> shares;
  for (std::size_t k = 0; k < _expected.size(); ++k) {
    const auto& flows = _evidence.observations()[k].flows;
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (const auto [from, to] = _site(flows[f]); part[from] && !part[to]) add({k, f}, shares);
  }
  return shares;
}

std::vector<Share> Suppositions::shares_of(const std::vector<Place>& places) const {
  std::vector<Share> shares;
  for (const auto place : places)
    add(place, shares);
  return shares;
}

/// Returns the flows between each two sites, crowd by crowd.
std::map<SitePair, std::vector<Place>> Suppositions::places_by_sites() const {
  std::map<SitePair, std::vector<Place>> places;
  for (std::size_t k = 0; k < _expected.size(); ++k) {
    const auto& flows = _evidence.observations()[k].flows;
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (const auto ends = _site(flows[f]); ends.first != ends.second)
        places[ends].push_back({k, f});
  }
  return places;
}

/// Returns the pair of sites that has nearly all of the flows, if there is one.
std::optional<SitePair> Suppositions::main_pair(const std::vector<Flow>& flows) const {
  constexpr double nearly_all = 0.65;
  std::map<SitePair, std::size_t> counts;
  for (auto flow : flows)
    ++counts[_site(flow)];
  for (const auto& [each, count] : counts)
    if (static_cast<double>(count) > nearly_all * static_cast<double>(flows.size())) return each;
  return std::nullopt;
}

/// How full flows that are chosen one by one make what leads from one site to another.
class SiteLoads {
public:
  /// What leads from one site to another is taken to carry the most that flows between them got in
  /// a crowd in which they got less than alone.
  SiteLoads(const Evidence& evidence, const Sites& sites) : _evidence(evidence), _site(sites) {
    for (const auto& seen : evidence.observations()) {
      const auto alone = evidence.model().alone(seen.flows);
      std::map<SitePair, std::pair<Rate, Rate>> totals;
      for (std::size_t f = 0; f < seen.flows.size(); ++f) {
        auto& [got, most] = totals[_site(seen.flows[f])];
        got += seen.each[f], most += alone[f];
      }
      for (const auto& [each, total] : totals)
        if (filled(total.first, total.second))
          _capacity[each] = std::max(_capacity[each], total.first);
    }
  }
  [[nodiscard]] bool has_room(Flow flow) const {
    const auto capacity = _capacity.find(_site(flow));
    const auto used = _used.find(_site(flow));
    return capacity == _capacity.end() || used == _used.end() || used->second < capacity->second;
  }
  void add(Flow flow) {
    _used[_site(flow)] += _evidence.model().alone(std::span(&flow, 1)).front();
  }

private:
  const Evidence& _evidence;
  SiteOf _site;
  std::map<SitePair, Rate> _capacity, _used;
};

} // namespace

void suppose_trunks(const Evidence& evidence, const Sites& sites, const Latencies& latencies,
                    const Judge& judge) {
  Suppositions suppositions(evidence, sites, latencies, judge);
  if (suppositions.consider(parts_of(sites, latencies)) && sites.size() > 2)
    suppositions.consider_pairs();
}

bool any_is_free(const Evidence& evidence, const Latencies& latencies, const Observation& seen,
                 Rate capacity) {
  constexpr double nearly_all = 0.9, much_less = 0.8, as_long = 1.25;
  const auto alone = evidence.model().alone(seen.flows);
  const auto shared =
      evidence.predict(seen.flows, alone, {std::vector<bool>(seen.flows.size(), true), capacity});
  const auto round_trip = [&](std::size_t f) {
    return static_cast<double>(latencies.round_trip(seen.flows[f].from, seen.flows[f].to));
  };
  const auto is_held_back = [&](std::size_t f) { return seen.each[f] < alone[f] * much_less; };
  for (std::size_t f = 0; f < seen.flows.size(); ++f) {
    if (seen.each[f] <= alone[f] * nearly_all || shared[f] >= alone[f] * much_less) continue;
    for (std::size_t g = 0; g < seen.flows.size(); ++g)
      if (is_held_back(g) && round_trip(g) <= round_trip(f) * as_long) return true;
  }
  return false;
}

std::vector<Flow> flows_through(const Evidence& evidence, const FilledTrunk& trunk,
                                const Sites& sites, std::size_t shift) {
  // Hosts of all sites in turn.
  const auto in_turn = [&](const std::vector<HostId>& hosts) {
    std::vector<HostId> result;
    for (std::size_t i = 0; result.size() < hosts.size(); ++i)
      for (const auto& site : sites)
        if (i < site.size() && std::ranges::binary_search(hosts, site[i]))
          result.push_back(site[i]);
    return result;
  };
  const auto from = in_turn(trunk.from);
  auto to = in_turn(trunk.to);
  std::rotate(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(shift % to.size()), to.end());
  SiteLoads loads(evidence, sites);
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < from.size() && !to.empty(); ++i) {
    const auto has_room = [&](HostId each) { return loads.has_room({from[i], each}); };
    auto next = std::ranges::find_if(to, has_room);
    if (next == to.end()) next = to.begin();
    flows.push_back({from[i], *next});
    loads.add(flows.back());
    to.erase(next);
  }
  return flows;
}

} // namespace thalweg::probe
