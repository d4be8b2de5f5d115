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

/// Collects bounds of one operation; the largest counts.
class Largest {
public:
  /// @param unit of which amounts of data are shown as multiples; 0: none
  explicit Largest(units::Size unit) : _unit(unit) {}

  [[nodiscard]] double time() const { return _bound.time.value(); }
  [[nodiscard]] Bound bound() && { return std::move(_bound); }

  /// Something goes from one host to another, which takes at least `distance`.
  void add_latency(const Reach& reach, HostId from, HostId to, double distance);
  /// `bytes` do: past the ports of both, and along the way.
  void add_way(const Reach& reach, HostId from, HostId to, double bytes, double distance);
  /// The same, past any set of ports, pairs and trunks.
  void add_cuts(Cuts& cuts, HostId from, HostId to, double bytes);
  void add_cuts(Cuts& cuts, const Demand& demand);
  /// A host sends to each other one as many bytes as stated, which take at least the distance from
  /// it. What goes the farthest leaves first at best: for each distance all that goes at least so
  /// far has left so long before the end (Jackson's rule for one machine and delivery times).
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
