#include "probe/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace thalweg::probe {
namespace {

double parse_dilation(const std::string& text) {
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  if (end == 0 || end != text.size() || !std::isfinite(value) || value < 1)
    throw std::invalid_argument("dilation '" + text + "': not a number of at least 1");
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');)
    parts.push_back(part);
  return parts;
}

network::HostId parse_host(const std::string& text) {
  network::HostId host = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), host);
  return error == std::errc{} && end == text.data() + text.size() ? host : -1;
}

std::vector<Flow> parse_pairs(const std::string& text) {
  std::vector<Flow> pairs;
  for (const auto& part : split(text)) {
    const auto dash = std::min(part.find('-'), part.size());
    const Flow pair{parse_host(part.substr(0, dash)),
                    parse_host(part.substr(std::min(dash + 1, part.size())))};
    if (pair.from < 0 || pair.to < 0 || pair.from == pair.to)
      throw std::invalid_argument("pair '" + part + "': not two ranks such as 0-1");
    if (std::ranges::find(pairs, pair) == pairs.end()) pairs.push_back(pair);
  }
  return pairs;
}

} // namespace

ProbeOptions parse(std::span<const char* const> arguments, const char* dilation) {
  ProbeOptions options;
  if (dilation != nullptr && *dilation != '\0') options.dilation = parse_dilation(dilation);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string name = arguments[i];
    const auto value = [&]() -> std::string {
      if (++i == arguments.size()) throw std::invalid_argument(name + " needs a value");
      return arguments[i];
    };
    if (name == "--budget")
      options.budget = units::parse_time(value()), options.budget_is_set = true;
    else if (name == "--patience")
      options.patience = units::parse_time(value());
    else if (name == "--dilation")
      options.dilation = parse_dilation(value());
    else if (name == "--output")
      options.output = value();
    else if (name == "--base")
      options.base = value();
    else if (name == "--hosts")
      options.hosts = split(value());
    else if (name == "--events")
      options.events = true;
    else if (name == "--resume")
      options.resume = value();
    else if (name == "--pairs")
      options.pairs = parse_pairs(value());
    else if (name == "--one-machine")
      options.one_machine = true;
    else
      throw std::invalid_argument("unknown argument '" + name + "'; " + usage);
  }
  if (!options.pairs.empty() && options.base.empty())
    throw std::invalid_argument("--pairs needs --base, the network that the pairs are of");
  return options;
}

} // namespace thalweg::probe
