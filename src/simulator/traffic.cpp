#include "simulator/traffic.hpp"

#include <algorithm>

namespace thalweg::simulator {

Occupancy::Intervals::const_iterator Occupancy::first_after(double time) const {
  return std::ranges::upper_bound(_intervals, time, {}, &Interval::end);
}

double Occupancy::free_from(double time) const {
  const auto next = first_after(time);
  return next != _intervals.end() && next->begin <= time ? next->end : time;
}

double Occupancy::occupy(double begin, double seconds) {
  const auto first = first_after(begin);
  auto next = first;
  double end = begin + seconds;
  for (double now = begin; next != _intervals.end() && next->begin < end; ++next) {
    end += next->end - std::max(now, next->begin);
    now = next->end;
  }
  const double joined = next != first ? std::min(begin, first->begin) : begin;
  const auto at = _intervals.erase(first, next);
  _intervals.insert(at, {joined, end});
  return end;
}

void Occupancy::rebase(double now) {
  _intervals.erase(_intervals.begin(), first_after(now));
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
