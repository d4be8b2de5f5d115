#include "simulator/traffic.hpp"

#include <algorithm>

namespace thalweg::simulator {

double Occupancy::free_from(double time) const {
  if (_intervals.empty() || _intervals.back().end <= time) return time;
  const auto next = std::ranges::upper_bound(_intervals, time, {}, &Interval::end);
  return next != _intervals.end() && next->begin <= time ? next->end : time;
}

double Occupancy::occupy(double begin, double seconds) {
  if (seconds <= 0) return begin;
  if (_intervals.empty() || _intervals.back().end < begin) {
    _intervals.push_back({begin, begin + seconds});
    return begin + seconds;
  }
  if (_intervals.back().end == begin) return _intervals.back().end = begin + seconds;
  const auto first = std::ranges::lower_bound(_intervals, begin, {}, &Interval::end);
  auto next = first;
  double end = begin + seconds;
  for (double now = begin; next != _intervals.end() && next->begin < end; ++next) {
    end += next->end - std::max(now, next->begin);
    now = next->end;
  }
  Interval joined{next != first ? std::min(begin, first->begin) : begin, end};
  if (next != _intervals.end() && next->begin == end) joined.end = next++->end;
  _intervals.insert(_intervals.erase(first, next), joined);
  return end;
}

void Occupancy::rebase(double now) {
  std::erase_if(_intervals, [&](const Interval& each) { return each.end <= now; });
  for (Interval& each : _intervals)
    each = {each.begin - now, each.end - now};
}

void Traffic::rebase(double now) {
  for (Occupancy& port : ports)
    port.rebase(now);
  for (auto& [pair, connection] : connections)
    connection.rebase(now);
}

} // namespace thalweg::simulator
