#include "probe/flows.hpp"

#include <algorithm>

namespace thalweg::probe {
namespace {

/// All pairs (from, to), the first ones covering every host.
std::deque<Arrow> arrows(const std::vector<HostId>& from, const std::vector<HostId>& to,
                         bool inside) {
  std::deque<Arrow> result;
  const bool wide = to.size() > from.size();
  const auto& longer = wide ? to : from;
  const auto& shorter = wide ? from : to;
  for (std::size_t shift = inside ? 1 : 0; shift < shorter.size(); ++shift)
    for (std::size_t i = 0; i < longer.size(); ++i) {
      const HostId a = longer[i], b = shorter[(i + shift) % shorter.size()];
      result.push_back(wide ? Arrow{b, a} : Arrow{a, b});
    }
  return result;
}

std::vector<std::size_t> site_of_hosts(const Sites& sites) {
  std::size_t hosts = 0;
  for (const auto& site : sites)
    hosts += site.size();
  std::vector<std::size_t> result(hosts);
  for (std::size_t s = 0; s < sites.size(); ++s)
    for (HostId host : sites[s])
      result[static_cast<std::size_t>(host)] = s;
  return result;
}

} // namespace

FlowQueue::FlowQueue(const Sites& sites)
    : _site(site_of_hosts(sites)), _sites(sites.size()), _busy(_site.size()), _leaves(_sites),
      _enters(_sites) {
  for (std::size_t s = 0; s < _sites; ++s)
    for (std::size_t t = 0; t < _sites; ++t) {
      _lanes.push_back({s, t, arrows(sites[s], sites[t], s == t)});
      _waiting += _lanes.back().flows.size();
    }
}

FlowQueue::Lane& FlowQueue::lane(Arrow flow) {
  return _lanes[_site[static_cast<std::size_t>(flow.from)] * _sites +
                _site[static_cast<std::size_t>(flow.to)]];
}

bool FlowQueue::can_run(const Lane& lane) const {
  return !lane.busy && (lane.from == lane.to || (!_leaves[lane.from] && !_enters[lane.to]));
}

void FlowQueue::set_busy(Lane& lane, Arrow flow, bool busy) {
  lane.busy = busy;
  _busy[static_cast<std::size_t>(flow.from)] = _busy[static_cast<std::size_t>(flow.to)] = busy;
  if (lane.from != lane.to) _leaves[lane.from] = _enters[lane.to] = busy;
}

std::vector<Arrow> FlowQueue::start() {
  std::vector<Arrow> started;
  for (auto& lane : _lanes) {
    if (!can_run(lane)) continue;
    const auto next = std::find_if(lane.flows.begin(), lane.flows.end(), [&](Arrow flow) {
      return !_busy[static_cast<std::size_t>(flow.from)] &&
             !_busy[static_cast<std::size_t>(flow.to)];
    });
    if (next == lane.flows.end()) continue;
    set_busy(lane, *next, true);
    started.push_back(*next);
    lane.flows.erase(next);
    --_waiting;
  }
  return started;
}

void FlowQueue::finish(Arrow flow) { set_busy(lane(flow), flow, false); }

void infer(Matrix<Rate>& bandwidth, const Sites& sites) {
  const auto site = site_of_hosts(sites);
  const auto hosts = static_cast<HostId>(site.size());
  // The best flow from each host to each site, and from each site to each host; medians of the
  // rest.
  Matrix<Rate> best_to(site.size()), best_from(site.size());
  std::vector<std::vector<double>> lanes(sites.size() * sites.size());
  std::vector<double> all;
  const auto at = [&](HostId host) {
    return static_cast<HostId>(site[static_cast<std::size_t>(host)]);
  };
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      const Rate rate = bandwidth(from, to);
      if (from == to || rate == Rate(0)) continue;
      best_to(from, at(to)) = std::max(best_to(from, at(to)), rate);
      best_from(at(from), to) = std::max(best_from(at(from), to), rate);
      lanes[site[static_cast<std::size_t>(from)] * sites.size() +
            site[static_cast<std::size_t>(to)]]
          .push_back(rate.value());
      all.push_back(rate.value());
    }
  if (all.empty()) return;
  const Rate any(median(all));
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      if (from == to || bandwidth(from, to) != Rate(0)) continue;
      const auto& lane = lanes[site[static_cast<std::size_t>(from)] * sites.size() +
                               site[static_cast<std::size_t>(to)]];
      const Rate weaker = std::min(best_to(from, at(to)), best_from(at(from), to));
      bandwidth(from, to) = weaker != Rate(0) ? weaker : lane.empty() ? any : Rate(median(lane));
    }
}

} // namespace thalweg::probe
