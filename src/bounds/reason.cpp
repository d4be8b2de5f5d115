#include "bounds/reason.hpp"

#include <cmath>

namespace thalweg::bounds {

std::string reason(const std::string& what, double bytes, double rate, double time,
                   units::Size unit) {
  constexpr double least_latency = 1e-6; // relative to the time; less is rounding
  std::string text = what + ": ";
  const auto size = static_cast<units::Size>(std::llround(bytes));
  if (unit > 0 && size > unit && size % unit == 0)
    text += std::to_string(size / unit) + " x " + units::size_to_text(unit);
  else
    text += units::size_to_text(size);
  text += " / " + units::to_text(units::Rate(rate));
  const double latency = time - bytes / rate;
  if (latency > least_latency * time)
    text += " + " + units::to_text(units::Time(latency)) + " latency";
  return text;
}

} // namespace thalweg::bounds
