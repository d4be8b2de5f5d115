#pragma once

#include "units/units.hpp"

#include <algorithm>
#include <cmath>

namespace thalweg::planner {

using units::Size;

/// Where one plan overtakes another: the sizes between which it does, and how much the first one
/// leads at `low` and the second one at `high`, as logarithms.
struct Crossing {
  Size low, high;
  double low_lead = 0, high_lead = 0;

  /// Tries sizes at which both would take the same time if the logarithm of their ratio were linear
  /// in that of the size.
  /// @param lead returns that of the first plan
  template <class Lead>
  void narrow(int steps, const Lead& lead) {
    for (int step = 0; step < steps && high - low > 1 && !is_found(); ++step)
      look(middle(), lead);
  }
  /// Tries both sides of a size at which times jump.
  template <class Lead>
  void look_around(Size jump, const Lead& lead) {
    for (const Size at : {jump - 1, jump})
      if (low < at && at < high) look(at, lead);
  }
  [[nodiscard]] Size end() const {
    if (high - low > 1 && !is_found()) return middle();
    return low_lead < high_lead ? low + 1 : high;
  }
  /// Returns how far from `low` to `high` a size is, by its logarithm.
  [[nodiscard]] double part(Size at) const {
    const auto logarithm = [](Size size) { return std::log(static_cast<double>(size)); };
    return (logarithm(at) - logarithm(low)) / (logarithm(high) - logarithm(low));
  }

private:
  /// The search ends when the times differ by less than 1 % at one end.
  static constexpr double least_lead = 1.01;
  template <class Lead>
  void look(Size at, const Lead& lead) {
    const double found = lead(at);
    (found > 0 ? low : high) = at;
    (found > 0 ? low_lead : high_lead) = std::abs(found);
  }
  [[nodiscard]] bool is_found() const {
    return std::min(low_lead, high_lead) < std::log(least_lead);
  }
  [[nodiscard]] Size middle() const {
    const double part = std::clamp(low_lead / (low_lead + high_lead), 0.1, 0.9);
    const double between =
        std::pow(static_cast<double>(low), 1 - part) * std::pow(static_cast<double>(high), part);
    return std::clamp(static_cast<Size>(std::llround(between)), low + 1, high - 1);
  }
};

} // namespace thalweg::planner
