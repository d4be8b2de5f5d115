#include "simulator/ingress_queue.hpp"

#include <algorithm>

namespace thalweg::simulator {

namespace {

/// Rates are sums of many: by how much a capacity must be exceeded, relatively.
constexpr double rate_rounding = 1e-9;
/// A wait below this fraction of the time is rounding.
constexpr double least_wait = 1e-12;
/// Changes among which one of the same time is looked for.
constexpr std::size_t looked_back = 4;

constexpr auto later = [](const auto& a, const auto& b) { return a.time > b.time; };

} // namespace

void IngressQueue::change(double time, double rate) {
  const std::size_t oldest = _recent.size() - std::min(_recent.size(), looked_back);
  for (std::size_t at = _recent.size(); at-- > oldest;)
    if (_recent[at].time == time) {
      _recent[at].rate += rate;
      return;
    }
  _recent.push_back({time, rate});
}

double IngressQueue::delay(double now) {
  for (const Change& change : _recent) {
    _changes.push_back(change);
    std::ranges::push_heap(_changes, later);
  }
  _recent.clear();
  while (!_changes.empty() && _changes.front().time <= now) {
    advance(_changes.front().time);
    _rate += _changes.front().rate;
    std::ranges::pop_heap(_changes, later);
    _changes.pop_back();
  }
  advance(now);
  const double wait = _backlog / _capacity;
  return wait > least_wait * now ? wait : 0;
}

void IngressQueue::advance(double now) {
  const double time = std::max(0.0, now - _since);
  _since = std::max(_since, now);
  if (_backlog > 0 || _rate > _capacity * (1 + rate_rounding))
    _backlog = std::max(0.0, _backlog + (_rate - _capacity) * time);
}

} // namespace thalweg::simulator
