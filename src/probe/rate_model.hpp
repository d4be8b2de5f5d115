#pragma once

#include "probe/bandwidth.hpp"

namespace thalweg::probe {

/// Capacities of each host on the wall clock; infinite where more flows always got more.
struct Capacities {
  std::vector<Rate> egress, ingress;
};

/// Returns the rate of each host's fastest flow out, and in.
Capacities fastest_flows(const Matrix<Rate>& rates);

/// A capacity that flows share.
struct Shared {
  std::vector<bool> members; ///< by flow
  Rate capacity;
};

/// Predicts the rates of flows that run at the same time: max-min fair.
class RateModel {
public:
  /// Hosts have the capacity of their fastest flow.
  explicit RateModel(const Bandwidths& bandwidths);
  RateModel(const Bandwidths& bandwidths, const Capacities& capacities);

  /// Returns the rates of each flow alone.
  [[nodiscard]] std::vector<Rate> alone(std::span<const Flow> flows) const;
  /// Returns the flows' rates together.
  /// @param limits the rate of each flow alone
  [[nodiscard]] std::vector<Rate> predict(std::span<const Flow> flows, std::span<const Rate> limits,
                                          std::span<const Shared> shared) const;

private:
  const Bandwidths& _bandwidths;
  Capacities _capacities;
};

} // namespace thalweg::probe
