#include "probe/unmet.hpp"

#include <cmath>
#include <map>

namespace thalweg::probe {
namespace {

/// The least latency from a site to each that it has met.
using Distances = std::map<std::size_t, double>;

std::vector<Distances> distances(const Matrix<units::Time>& latency, const Sites& sites) {
  const SiteOf site(sites);
  const auto hosts = static_cast<HostId>(site.hosts());
  std::vector<Distances> result(sites.size());
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = 0; b < hosts; ++b) {
      const double seconds = latency(a, b).value();
      if (seconds <= 0 || site(a) == site(b)) continue;
      const auto [place, is_new] = result[site(a)].try_emplace(site(b), seconds);
      place->second = std::min(place->second, seconds);
    }
  return result;
}

/// Returns by which factor, as a logarithm, two sites' distances to those that both have met differ
/// most; infinite if there are none.
double unlikeness(const Distances& a, const Distances& b) {
  double most = -1;
  for (auto at = a.begin(), other = b.begin(); at != a.end() && other != b.end();) {
    if (at->first == other->first) {
      most = std::max(most, std::abs(std::log(at->second / other->second)));
      ++at, ++other;
    } else {
      ++(at->first < other->first ? at : other);
    }
  }
  return most < 0 ? std::numeric_limits<double>::infinity() : most;
}

} // namespace

Round unmet(const Matrix<units::Time>& latency, const Sites& sites) {
  const auto known = distances(latency, sites);
  std::vector<bool> taken(sites.size());
  Round round;
  for (std::size_t s = 0; s < sites.size(); ++s) {
    if (taken[s]) continue;
    std::size_t best = s;
    double least = 0;
    for (std::size_t t = s + 1; t < sites.size(); ++t) {
      if (taken[t] || known[s].contains(t)) continue;
      const double own = unlikeness(known[s], known[t]);
      if (best == s || own < least) best = t, least = own;
    }
    if (best == s) continue;
    taken[s] = taken[best] = true;
    round.push_back({sites[s].front(), sites[best].front()});
  }
  return round;
}

} // namespace thalweg::probe
