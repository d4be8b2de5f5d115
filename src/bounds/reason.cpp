#include "bounds/reason.hpp"

#include <cmath>

namespace thalweg::bounds {
namespace {

/// Prints bytes, which may be more than a Size holds, as a multiple of `unit` or plainly.
std::string amount(double bytes, units::Size unit) {
  constexpr double most_multiple = 1e15; // Quotients of doubles are then still exact.
  constexpr double most_size = 0x1p63, terabyte = 1e12;
  const double whole = std::round(bytes);
  const double multiple = unit > 0 ? whole / static_cast<double>(unit) : 0;
  if (multiple > 1 && multiple < most_multiple && multiple == std::round(multiple))
    return std::to_string(std::llround(multiple)) + " x " + units::size_to_text(unit);
  if (whole < most_size) return units::size_to_text(static_cast<units::Size>(whole));
  return std::to_string(std::llround(whole / terabyte)) + "TB";
}

} // namespace

std::string reason(const std::string& what, double bytes, double rate, double time,
                   units::Size unit) {
  constexpr double least_latency = 1e-6; // relative to the time; less is rounding
  std::string text = what + ": " + amount(bytes, unit) + " / " + units::to_text(units::Rate(rate));
  const double latency = time - bytes / rate;
  if (latency > least_latency * time)
    text += " + " + units::to_text(units::Time(latency)) + " latency";
  return text;
}

} // namespace thalweg::bounds
