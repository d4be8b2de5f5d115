#include "probe/flows.hpp"

#include <algorithm>
#include <map>

namespace thalweg::probe {
namespace {

/// Returns all pairs (from, to); the first ones cover every host.
std::deque<Flow> flows_between(const std::vector<HostId>& from, const std::vector<HostId>& to,
                               bool inside) {
  std::deque<Flow> result;
  const bool wide = to.size() > from.size();
  const auto& longer = wide ? to : from;
  const auto& shorter = wide ? from : to;
  for (std::size_t shift = inside ? 1 : 0; shift < shorter.size(); ++shift)
    for (std::size_t i = 0; i < longer.size(); ++i) {
      const HostId a = longer[i], b = shorter[(i + shift) % shorter.size()];
      result.push_back(wide ? Flow{b, a} : Flow{a, b});
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
      _queues.push_back({s, t, flows_between(sites[s], sites[t], s == t)});
}

void FlowQueue::set_widths(Widths widths) {
  _widths = std::move(widths);
  _joint.assign(_widths.joint.size(), 0);
}

void FlowQueue::limit(std::size_t from, std::size_t to, std::size_t most) {
  _queues[from * _sites + to].most = most;
}

std::size_t FlowQueue::waiting() const {
  std::size_t count = 0;
  for (const auto& queue : _queues)
    if (queue.most > queue.handed_out)
      count += std::min(queue.flows.size(), queue.most - queue.handed_out);
  return count;
}

FlowQueue::PairQueue& FlowQueue::queue_of(Flow flow) {
  const auto [from, to] = _site(flow);
  return _queues[from * _sites + to];
}

bool FlowQueue::can_run(const PairQueue& queue) const {
  const auto [from, to] = std::pair(queue.from, queue.to);
  if (from == to) return queue.running < _widths.inside[from];
  return queue.running < _widths.between[from * _sites + to] &&
         _leave[from] < _widths.leaving[from] && _enter[to] < _widths.entering[to];
}

bool FlowQueue::can_run(Flow flow) const {
  if (_busy[static_cast<std::size_t>(flow.from)] || _busy[static_cast<std::size_t>(flow.to)])
    return false;
  for (std::size_t j = 0; j < _joint.size(); ++j)
    if (_joint[j] >= _widths.joint[j].most && _widths.joint[j].carries(flow)) return false;
  return true;
}

void FlowQueue::begin(PairQueue& queue, Flow flow) {
  ++queue.running, ++queue.handed_out;
  _busy[static_cast<std::size_t>(flow.from)] = _busy[static_cast<std::size_t>(flow.to)] = true;
  if (queue.from != queue.to) ++_leave[queue.from], ++_enter[queue.to];
  for (std::size_t j = 0; j < _joint.size(); ++j)
    if (_widths.joint[j].carries(flow)) ++_joint[j];
}

std::vector<Flow> FlowQueue::start() {
  std::vector<Flow> started;
  for (auto& queue : _queues)
    while (queue.handed_out < queue.most && can_run(queue)) {
      const auto next = std::find_if(queue.flows.begin(), queue.flows.end(),
                                     [&](Flow flow) { return can_run(flow); });
      if (next == queue.flows.end()) break;
      begin(queue, *next);
      started.push_back(*next);
      queue.flows.erase(next);
    }
  return started;
}

void FlowQueue::finish(Flow flow) {
  auto& own = queue_of(flow);
  --own.running;
  _busy[static_cast<std::size_t>(flow.from)] = _busy[static_cast<std::size_t>(flow.to)] = false;
  if (own.from != own.to) --_leave[own.from], --_enter[own.to];
  for (std::size_t j = 0; j < _joint.size(); ++j)
    if (_widths.joint[j].carries(flow)) --_joint[j];
}

void FlowQueue::postpone(std::span<const Flow> flows) {
  Matrix<char> later(_site.hosts());
  for (const Flow flow : flows)
    later(flow.from, flow.to) = 1;
  for (PairQueue& queue : _queues)
    std::stable_partition(queue.flows.begin(), queue.flows.end(),
                          [&](Flow flow) { return later(flow.from, flow.to) == 0; });
}

void FlowQueue::put_back(Flow flow) {
  auto& own = queue_of(flow);
  --own.handed_out;
  own.flows.push_front(flow);
}

void infer(Matrix<Rate>& bandwidth, const Sites& sites) {
  const SiteOf site(sites);
  const auto hosts = static_cast<HostId>(site.hosts());
  // The best flow from each host to each site, and from each site to each host; medians of the
  // rest.
  Matrix<Rate> best_to(site.hosts()), best_from(site.hosts());
  std::map<SitePair, std::vector<double>> by_sites;
  std::vector<double> all;
  const auto at = [&](HostId host) { return static_cast<HostId>(site(host)); };
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      const Rate rate = bandwidth(from, to);
      if (from == to || rate == Rate(0)) continue;
      best_to(from, at(to)) = std::max(best_to(from, at(to)), rate);
      best_from(at(from), to) = std::max(best_from(at(from), to), rate);
      by_sites[site(Flow{from, to})].push_back(rate.value());
      all.push_back(rate.value());
    }
  if (all.empty()) return;
  const Rate any(median(all));
  std::map<SitePair, Rate> usual;
  for (const auto& [ends, rates] : by_sites)
    usual[ends] = Rate(median(rates));
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      if (from == to || bandwidth(from, to) != Rate(0)) continue;
      const auto alike = usual.find(site(Flow{from, to}));
      const Rate weaker = std::min(best_to(from, at(to)), best_from(at(from), to));
      bandwidth(from, to) = weaker != Rate(0) ? weaker : alike == usual.end() ? any : alike->second;
    }
}

} // namespace thalweg::probe
