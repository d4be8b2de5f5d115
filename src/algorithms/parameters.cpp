#include "algorithms/parameters.hpp"

#include <stdexcept>

namespace thalweg::algorithms {

std::string to_text(const Parameters& parameters) { return units::fields_to_text(parameters); }

std::string to_text(std::string_view algorithm, const Parameters& parameters) {
  const std::string text = to_text(parameters);
  return std::string(algorithm) + (text.empty() ? "" : ":" + text);
}

Parameters parse_parameters(std::string_view text) {
  Parameters parameters;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view assignment = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    try {
      units::assign(parameters, assignment);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("'" + std::string(assignment) + "': " + error.what());
    }
  }
  return parameters;
}

} // namespace thalweg::algorithms
