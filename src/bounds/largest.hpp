#pragma once

#include "bounds/bounds.hpp"
#include "bounds/cut.hpp"
#include "bounds/reach.hpp"
#include "bounds/reason.hpp"
#include "bounds/windows.hpp"

#include <string>
#include <utility>
#include <vector>

namespace thalweg::bounds {

/// Collects the bounds of one operation and keeps the largest.
class Largest {
public:
  /// @param unit reasons show amounts of data as multiples of it; 0: plainly
  explicit Largest(units::Size unit) : _unit(unit) {}

  [[nodiscard]] double time() const { return _bound.time.value(); }
  [[nodiscard]] Bound bound() && { return std::move(_bound); }

  /// Something goes from one host to another, which takes at least `distance` seconds.
  void add_latency(const Reach& reach, HostId from, HostId to, double distance);
  /// `bytes` go from one host to another, through the ports of both.
  void add_path(const Reach& reach, HostId from, HostId to, double bytes, double distance);
  /// `bytes` go from one host to another, through any set of ports, pairs and trunks.
  void add_cuts(Cuts& cuts, HostId from, HostId to, double bytes);
  void add_cuts(Cuts& cuts, const Demand& demand);
  /// A host sends the stated bytes to each other host, each at least its distance away. Ideally
  /// data leaves in the order of falling distance: for each distance, everything that goes at least
  /// that far has left by that distance before the end (Jackson's rule for one machine and delivery
  /// times).
  void add_deliveries(const Reach& reach, HostId host, const std::vector<double>& bytes,
                      const Distances& distances);
  /// All of `bytes` pass the windows.
  void add_windows(const std::string& what, double bytes, std::vector<Window> windows);
  template <class Reason>
  void raise(double time, Reason reason_of) {
    if (time > _bound.time.value()) _bound = {Time(time), reason_of()};
  }

private:
  template <class What>
  void add_port(double rate, double bytes, double latency, What what_of) {
    if (rate == Reach::unlimited) return;
    const double time = bytes / rate + latency;
    raise(time, [&] { return reason(what_of(), bytes, rate, time, _unit); });
  }

  units::Size _unit;
  Bound _bound;
};

} // namespace thalweg::bounds
