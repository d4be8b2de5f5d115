#include "probe/sites.hpp"

#include <algorithm>
#include <numeric>

namespace thalweg::probe {
namespace {

using network::HostId;
using network::Matrix;
using units::Time;

struct Link {
  double latency;
  HostId a, b;
};

/// Disjoint sets of hosts.
class Groups {
public:
  explicit Groups(std::size_t count) : _parent(count) {
    std::iota(_parent.begin(), _parent.end(), 0);
  }
  HostId find(HostId host) {
    auto& parent = _parent[static_cast<std::size_t>(host)];
    if (parent != host) parent = find(parent);
    return parent;
  }
  /// Joins two groups, led by the smaller number; returns false if they were one already.
  bool join(HostId a, HostId b) {
    a = find(a), b = find(b);
    if (a == b) return false;
    _parent[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    return true;
  }

private:
  std::vector<HostId> _parent;
};

std::vector<Link> links_by_latency(const Matrix<Time>& latency) {
  const auto hosts = static_cast<HostId>(latency.size());
  std::vector<Link> links;
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = a + 1; b < hosts; ++b)
      if (latency(a, b) > Time(0))
        links.push_back({(latency(a, b).value() + latency(b, a).value()) / 2, a, b});
  std::stable_sort(links.begin(), links.end(),
                   [](const Link& x, const Link& y) { return x.latency < y.latency; });
  return links;
}

/// Whether every link inside a site is shorter than every link that leaves one of its two hosts'
/// site.
bool separated(const std::vector<Link>& links, Groups& groups, std::size_t hosts) {
  std::vector<double> longest_inside(hosts, 0);
  for (const auto& link : links)
    if (groups.find(link.a) == groups.find(link.b))
      for (HostId host : {link.a, link.b})
        longest_inside[static_cast<std::size_t>(host)] = link.latency;
  return std::all_of(links.begin(), links.end(), [&](const Link& link) {
    return groups.find(link.a) == groups.find(link.b) ||
           link.latency > std::max(longest_inside[static_cast<std::size_t>(link.a)],
                                   longest_inside[static_cast<std::size_t>(link.b)]);
  });
}

/// Whether no site is small, and nearly all links between sites are longer than nearly all inside
/// them.
bool surely_separated(const std::vector<Link>& links, Groups& groups,
                      const std::vector<std::vector<HostId>>& sites) {
  constexpr double odd = 0.05;
  constexpr std::size_t smallest = 3;
  std::vector<double> inside, between; // ascending, as links are
  for (const auto& link : links)
    (groups.find(link.a) == groups.find(link.b) ? inside : between).push_back(link.latency);
  if (inside.empty() || between.empty()) return false;
  const auto odd_inside = static_cast<std::size_t>(odd * static_cast<double>(inside.size()));
  const auto odd_between = static_cast<std::size_t>(odd * static_cast<double>(between.size()));
  return between[odd_between] >= faint_gap * inside[inside.size() - 1 - odd_inside] &&
         std::ranges::all_of(sites, [](const auto& site) { return site.size() >= smallest; });
}

std::vector<std::vector<HostId>> as_lists(Groups& groups, HostId hosts) {
  std::vector<std::vector<HostId>> by_leader(static_cast<std::size_t>(hosts)), sites;
  for (HostId host = 0; host < hosts; ++host)
    by_leader[static_cast<std::size_t>(groups.find(host))].push_back(host);
  for (auto& site : by_leader)
    if (!site.empty()) sites.push_back(std::move(site));
  return sites;
}

/// Returns the latency of the last join below the widest gap, or the longest if no gap is clear.
double cut(const std::vector<double>& joins, double gap) {
  double widest = gap, last_inside = joins.empty() ? 0 : joins.back();
  for (std::size_t i = 1; i < joins.size(); ++i)
    if (joins[i] >= widest * joins[i - 1]) {
      widest = joins[i] / std::max(joins[i - 1], 1e-12);
      last_inside = joins[i - 1];
    }
  return last_inside;
}

} // namespace

std::vector<std::vector<HostId>> find_sites(const Matrix<Time>& latency) {
  const auto hosts = static_cast<HostId>(latency.size());
  const auto links = links_by_latency(latency);
  Groups all(latency.size());
  std::vector<double> joins;
  for (const auto& link : links)
    if (all.join(link.a, link.b)) joins.push_back(link.latency);

  const auto cut_at = [&](double gap) {
    const double last_inside = cut(joins, gap);
    Groups sites(latency.size());
    for (const auto& link : links)
      if (link.latency <= last_inside) sites.join(link.a, link.b);
    return sites;
  };
  auto clear = cut_at(clear_gap);
  if (auto sites = as_lists(clear, hosts); sites.size() > 1)
    return separated(links, clear, latency.size()) ? sites : as_lists(all, hosts);
  auto faint = cut_at(faint_gap);
  auto sites = as_lists(faint, hosts);
  return surely_separated(links, faint, sites) ? sites : as_lists(all, hosts);
}

} // namespace thalweg::probe
