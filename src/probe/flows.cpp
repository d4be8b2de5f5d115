#include "probe/flows.hpp"

#include <algorithm>
#include <map>

namespace thalweg::probe {
namespace {

/// Returns all pairs (from, to); the first ones cover every host.
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

} // namespace

SiteOf::SiteOf(const Sites& sites) {
  std::size_t hosts = 0;
  for (const auto& site : sites)
    hosts += site.size();
  _site.resize(hosts);
  for (std::size_t s = 0; s < sites.size(); ++s)
    for (HostId host : sites[s])
      _site[static_cast<std::size_t>(host)] = s;
}

FlowQueue::FlowQueue(const Sites& sites)
    : _site(sites), _sites(sites.size()), _widths(_sites), _busy(_site.hosts()), _leave(_sites),
      _enter(_sites) {
  for (std::size_t s = 0; s < _sites; ++s)
    for (std::size_t t = 0; t < _sites; ++t)
      _lanes.push_back({s, t, arrows(sites[s], sites[t], s == t)});
}

void FlowQueue::set_widths(Widths widths) {
  _widths = std::move(widths);
  _joint.assign(_widths.joint.size(), 0);
}

void FlowQueue::limit(std::size_t from, std::size_t to, std::size_t most) {
  _lanes[from * _sites + to].most = most;
}

std::size_t FlowQueue::waiting() const {
  std::size_t count = 0;
  for (const auto& lane : _lanes)
    if (lane.most > lane.handed_out)
      count += std::min(lane.flows.size(), lane.most - lane.handed_out);
  return count;
}

FlowQueue::Lane& FlowQueue::lane(Arrow flow) {
  const auto [from, to] = _site(flow);
  return _lanes[from * _sites + to];
}

bool FlowQueue::can_run(const Lane& lane) const {
  const auto [from, to] = std::pair(lane.from, lane.to);
  if (from == to) return lane.running < _widths.inside[from];
  return lane.running < _widths.between[from * _sites + to] &&
         _leave[from] < _widths.leaving[from] && _enter[to] < _widths.entering[to];
}

bool FlowQueue::can_run(Arrow flow) const {
  if (_busy[static_cast<std::size_t>(flow.from)] || _busy[static_cast<std::size_t>(flow.to)])
    return false;
  for (std::size_t j = 0; j < _joint.size(); ++j)
    if (_joint[j] >= _widths.joint[j].most && _widths.joint[j].carries(flow)) return false;
  return true;
}

void FlowQueue::begin(Lane& lane, Arrow flow) {
  ++lane.running, ++lane.handed_out;
  _busy[static_cast<std::size_t>(flow.from)] = _busy[static_cast<std::size_t>(flow.to)] = true;
  if (lane.from != lane.to) ++_leave[lane.from], ++_enter[lane.to];
  for (std::size_t j = 0; j < _joint.size(); ++j)
    if (_widths.joint[j].carries(flow)) ++_joint[j];
}

std::vector<Arrow> FlowQueue::start() {
  std::vector<Arrow> started;
  for (auto& lane : _lanes)
    while (lane.handed_out < lane.most && can_run(lane)) {
      const auto next = std::find_if(lane.flows.begin(), lane.flows.end(),
                                     [&](Arrow flow) { return can_run(flow); });
      if (next == lane.flows.end()) break;
      begin(lane, *next);
      started.push_back(*next);
      lane.flows.erase(next);
    }
  return started;
}

void FlowQueue::finish(Arrow flow) {
  auto& own = lane(flow);
  --own.running;
  _busy[static_cast<std::size_t>(flow.from)] = _busy[static_cast<std::size_t>(flow.to)] = false;
  if (own.from != own.to) --_leave[own.from], --_enter[own.to];
  for (std::size_t j = 0; j < _joint.size(); ++j)
    if (_widths.joint[j].carries(flow)) --_joint[j];
}

void FlowQueue::postpone(std::span<const Arrow> flows) {
  Matrix<char> later(_site.hosts());
  for (const Arrow flow : flows)
    later(flow.from, flow.to) = 1;
  for (Lane& lane : _lanes)
    std::stable_partition(lane.flows.begin(), lane.flows.end(),
                          [&](Arrow flow) { return later(flow.from, flow.to) == 0; });
}

void FlowQueue::put_back(Arrow flow) {
  auto& own = lane(flow);
  --own.handed_out;
  own.flows.push_front(flow);
}

void infer(Matrix<Rate>& bandwidth, const Sites& sites) {
  const SiteOf site(sites);
  const auto hosts = static_cast<HostId>(site.hosts());
  // The best flow from each host to each site, and from each site to each host; medians of the
  // rest.
  Matrix<Rate> best_to(site.hosts()), best_from(site.hosts());
  std::map<SitePair, std::vector<double>> lanes;
  std::vector<double> all;
  const auto at = [&](HostId host) { return static_cast<HostId>(site(host)); };
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      const Rate rate = bandwidth(from, to);
      if (from == to || rate == Rate(0)) continue;
      best_to(from, at(to)) = std::max(best_to(from, at(to)), rate);
      best_from(at(from), to) = std::max(best_from(at(from), to), rate);
      lanes[site(Arrow{from, to})].push_back(rate.value());
      all.push_back(rate.value());
    }
  if (all.empty()) return;
  const Rate any(median(all));
  std::map<SitePair, Rate> usual;
  for (const auto& [lane, rates] : lanes)
    usual[lane] = Rate(median(rates));
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      if (from == to || bandwidth(from, to) != Rate(0)) continue;
      const auto lane = usual.find(site(Arrow{from, to}));
      const Rate weaker = std::min(best_to(from, at(to)), best_from(at(from), to));
      bandwidth(from, to) = weaker != Rate(0) ? weaker : lane == usual.end() ? any : lane->second;
    }
}

} // namespace thalweg::probe
