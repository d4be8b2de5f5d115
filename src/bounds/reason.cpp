#include "bounds/reason.hpp"

namespace thalweg::bounds {

std::string reason(const std::string& what, std::int64_t times, units::Size size, double rate,
                   double time) {
  constexpr double least_latency = 1e-6; // of the time; less is rounding
  std::string text = what + ": ";
  if (times > 1) text += std::to_string(times) + " x ";
  text += units::size_to_text(size) + " / " + units::to_text(units::Rate(rate));
  const double latency = time - static_cast<double>(times) * static_cast<double>(size) / rate;
  if (latency > least_latency * time)
    text += " + " + units::to_text(units::Time(latency)) + " latency";
  return text;
}

} // namespace thalweg::bounds
