#pragma once

#include "probe/bandwidth.hpp"

/// Flows that run at the same time, to find what they share.
namespace thalweg::probe {

/// Runs crowds of flows.
class Crowds {
public:
  /// @param what for errors: "looking for trunks"
  Crowds(Prober& prober, const Latencies& latencies, const Bandwidths& bandwidths, Size eager_limit,
         std::string what)
      : _prober(prober), _latencies(latencies), _bandwidths(bandwidths), _eager_limit(eager_limit),
        _what(std::move(what)) {}

  /// Runs all crowds at the same time, equally long; again and longer while TCP is still starting
  /// on one of them.
  [[nodiscard]] std::vector<Crowded> run(std::span<const std::vector<Flow>> crowds) const;
  [[nodiscard]] Crowded run(const std::vector<Flow>& crowd) const {
    return run({&crowd, 1}).front();
  }
  /// Returns the sum of the rates of each flow alone.
  [[nodiscard]] Rate alone(std::span<const Flow> flows) const;
  [[nodiscard]] const Bandwidths& bandwidths() const { return _bandwidths; }
  [[nodiscard]] Prober& prober() const { return _prober; }

private:
  [[nodiscard]] std::vector<Crowded> run_for(std::span<const std::vector<Flow>> crowds,
                                             Nanoseconds limit) const;
  [[nodiscard]] Nanoseconds longest_round_trip(const std::vector<Flow>& crowd) const;
  void append_bursts(const std::vector<Flow>& crowd, Nanoseconds limit,
                     std::vector<Burst>& bursts) const;

  Prober& _prober;
  const Latencies& _latencies;
  const Bandwidths& _bandwidths;
  Size _eager_limit;
  std::string _what;
};

/// Whether flows that should get `expected` together have filled a shared capacity.
inline bool filled(Rate together, Rate expected) {
  constexpr double clearly_less = 0.9;
  return together != Rate(0) && together < expected * clearly_less;
}

} // namespace thalweg::probe
