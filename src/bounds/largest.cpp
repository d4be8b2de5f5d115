#include "bounds/largest.hpp"

#include "units/index.hpp"

#include <algorithm>

namespace thalweg::bounds {

void Largest::add_latency(const Reach& reach, HostId from, HostId to, double distance) {
  raise(distance,
        [&] { return "latency " + reach.path(from, to) + ": " + units::to_text(Time(distance)); });
}

void Largest::add_path(const Reach& reach, HostId from, HostId to, double bytes, double distance) {
  add_latency(reach, from, to, distance);
  const auto path = [&] { return reach.path(from, to); };
  add_port(reach.egress[index(from)], bytes, distance,
           [&] { return reach.egress_of(reach.names[index(from)]) + ", " + path(); });
  add_port(reach.ingress[index(to)], bytes, distance,
           [&] { return reach.ingress_of(reach.names[index(to)]) + ", " + path(); });
}

void Largest::add_cuts(Cuts& cuts, HostId from, HostId to, double bytes) {
  Cuts::Result result = cuts.exceed(time(), from, to, bytes);
  if (!result.reason.empty()) _bound = {Time(result.time), std::move(result.reason)};
}

void Largest::add_cuts(Cuts& cuts, const Demand& demand) {
  Cuts::Result result = cuts.exceed(time(), demand);
  if (!result.reason.empty()) _bound = {Time(result.time), std::move(result.reason)};
}

void Largest::add_deliveries(const Reach& reach, HostId host, const std::vector<double>& bytes,
                             const Distances& distances) {
  std::vector<HostId> farthest_first;
  for (HostId to = 0; to < reach.size(); ++to)
    if (to != host && bytes[index(to)] > 0) farthest_first.push_back(to);
  std::ranges::stable_sort(farthest_first, std::ranges::greater{},
                           [&](HostId to) { return distances[index(to)]; });
  const double rate = reach.rate_out(host);
  double sum = 0;
  for (std::size_t i = 0; i < farthest_first.size(); ++i) {
    const HostId to = farthest_first[i];
    sum += bytes[index(to)];
    add_port(rate, sum, distances[index(to)], [&] {
      return reach.egress_of(reach.names[index(host)]) + ", " +
             reach.path(host, i == 0 ? reach.names[index(to)] : std::to_string(i + 1) + " hosts");
    });
  }
}

void Largest::add_windows(const std::string& what, double bytes, std::vector<Window> windows) {
  if (bytes <= 0) return; // What nothing passes delays nothing, not even by its latency.
  double rate = 0;
  for (const Window& window : windows)
    rate += window.capacity;
  if (rate == Reach::unlimited) return;
  const double time = least_time(std::move(windows), bytes);
  raise(time, [&] { return reason(what, bytes, rate, time, _unit); });
}

} // namespace thalweg::bounds
