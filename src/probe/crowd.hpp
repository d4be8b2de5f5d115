#pragma once

#include "probe/bandwidth.hpp"
#include "probe/transfer.hpp"

/// Flows that run at the same time, to find what they share.
namespace thalweg::probe {

/// The result of flows that ran at the same time.
struct Crowded {
  Rate together; ///< zero if they never all ran at once
  Rate alone;    ///< sum of the rates of each flow alone
};

/// Runs crowds of flows.
class Crowds {
public:
  Crowds(Coordinator& coordinator, const Latencies& latencies, const Bandwidths& bandwidths,
         Size eager_limit)
      : _coordinator(coordinator), _latencies(latencies), _bandwidths(bandwidths),
        _eager_limit(eager_limit) {}

  /// Runs all crowds at the same time.
  /// @param fair by crowd: the share of its own rate that each flow is likely to get, so that all
  /// last equally long
  [[nodiscard]] std::vector<Crowded> run(std::span<const std::vector<Arrow>> crowds,
                                         std::span<const double> fair) const;
  /// Runs one crowd, whose flows may each get all of their rate.
  [[nodiscard]] Crowded run(const std::vector<Arrow>& crowd) const;
  /// Returns the sum of the rates of each flow alone.
  [[nodiscard]] Rate alone(std::span<const Arrow> flows) const;
  [[nodiscard]] const Bandwidths& bandwidths() const { return _bandwidths; }

private:
  [[nodiscard]] Nanoseconds longest_round_trip(const std::vector<Arrow>& crowd) const;
  void append_bursts(const std::vector<Arrow>& crowd, double fair,
                     std::vector<Burst>& bursts) const;

  Coordinator& _coordinator;
  const Latencies& _latencies;
  const Bandwidths& _bandwidths;
  Size _eager_limit;
};

/// Whether flows that should get `expected` together have filled a shared capacity.
inline bool filled(Rate together, Rate expected) {
  constexpr double clearly_less = 0.9;
  return together != Rate(0) && together < expected * clearly_less;
}

} // namespace thalweg::probe
