#include "probe/partitions.hpp"

#include <algorithm>
#include <numeric>
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

Passage between(const Part& part, const Sites& sites) {
  Passage passage;
  for (std::size_t s = 0; s < sites.size(); ++s) {
    auto& end = part[s] ? passage.from : passage.to;
    end.insert(end.end(), sites[s].begin(), sites[s].end());
  }
  std::ranges::sort(passage.from);
  std::ranges::sort(passage.to);
  return passage;
}

/// What the flows of a passage got in a crowd.
struct Share {
  std::vector<Arrow> flows;
  Rate seen{0}, expected{0};
};

/// Supposes one passage after the other, each of which explains what those before leave.
class Suppositions {
public:
  explicit Suppositions(const Evidence& evidence) : _evidence(evidence) { predict(); }

  /// Supposes a passage if its flows got less than expected in the crowd in which they got most.
  void consider(Passage passage) {
    const auto shares = shares_of(passage);
    for (const auto& share : shares)
      passage.capacity = std::max(passage.capacity, share.seen);
    std::size_t crowds = 0;
    for (const auto& share : shares)
      if (share.seen >= passage.capacity * as_much && filled(share.seen, share.expected)) {
        ++crowds;
        if (passage.crowd.empty()) passage.crowd = share.flows;
      }
    if (crowds == 0) return;
    _evidence.passages.push_back(passage);
    predict();
    found.push_back({std::move(passage), crowds});
  }
  std::vector<Supposition> found;

private:
  void predict() {
    _expected.clear();
    for (const auto& seen : _evidence.observations())
      _expected.push_back(_evidence.predict(seen.flows));
  }
  [[nodiscard]] std::vector<Share> shares_of(const Passage& passage) const;

  Evidence _evidence;                       ///< with the passages that are supposed
  std::vector<std::vector<Rate>> _expected; ///< by observation, by flow
};

std::vector<Share> Suppositions::shares_of(const Passage& passage) const {
  std::vector<Share> shares;
  for (std::size_t k = 0; k < _expected.size(); ++k) {
    const auto& seen = _evidence.observations()[k];
    auto& share = shares.emplace_back();
    for (std::size_t f = 0; f < seen.flows.size(); ++f) {
      if (!passage.carries(seen.flows[f])) continue;
      share.flows.push_back(seen.flows[f]);
      share.seen += seen.each[f], share.expected += _expected[k][f];
    }
  }
  return shares;
}

} // namespace

std::vector<Supposition> supposed_passages(const Evidence& evidence, const Sites& sites,
                                           const Latencies& latencies) {
  Suppositions suppositions(evidence);
  for (const auto& part : parts_of(sites, latencies))
    suppositions.consider(between(part, sites));
  return std::move(suppositions.found);
}

std::vector<Arrow> flows_through(const Passage& passage, const Sites& sites, std::size_t shift) {
  // Hosts of all sites in turn.
  const auto in_turn = [&](const std::vector<HostId>& hosts) {
    std::vector<HostId> result;
    for (std::size_t i = 0; result.size() < hosts.size(); ++i)
      for (const auto& site : sites)
        if (i < site.size() && std::ranges::binary_search(hosts, site[i]))
          result.push_back(site[i]);
    return result;
  };
  const auto from = in_turn(passage.from), to = in_turn(passage.to);
  std::vector<Arrow> flows;
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
    flows.push_back({from[i], to[(i + shift) % to.size()]});
  return flows;
}

} // namespace thalweg::probe
