#include "options.hpp"

#include "operation.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace thalweg::bench {
namespace {

template <class Number>
Number number(std::string_view option, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument(std::string(option) + ": \"" + std::string(text) +
                                "\" is not a number; give one such as 7");
  return value;
}

std::string known_collective(const std::string& name) {
  std::string known;
  for (const auto& candidate : collective_names()) {
    if (candidate == name) return name;
    known += (known.empty() ? "" : ", ") + candidate;
  }
  throw std::invalid_argument("\"" + name + "\" can't be measured; choose one of " + known);
}

Variant parse_variant(const std::string& text) {
  const auto equals = text.find('=');
  const auto colon = text.find(':');
  if (equals == std::string::npos || colon < equals) return {text, ""};
  return {text.substr(equals + 1), known_collective(text.substr(0, equals))};
}

void check(const Options& options, int ranks) {
  if (options.collectives.empty() || options.sizes.empty())
    throw std::invalid_argument("give at least one --collective and one --size");
  if (options.repetitions < 1) throw std::invalid_argument("--repetitions must be at least 1");
  if (!(options.dilation > 0)) throw std::invalid_argument("--dilation must be above 0");
  for (const int root : options.roots)
    if (root < 0 || root >= ranks)
      throw std::invalid_argument("--root " + std::to_string(root) + " is not one of the " +
                                  std::to_string(ranks) + " ranks");
}

} // namespace

std::string Variant::force(const std::string& collective) const {
  if (text == "native") return "native";
  if (text == "thalweg") return "";
  return collective + "=" + text;
}

std::vector<Cell> Options::cells() const {
  std::vector<Cell> cells;
  for (const auto& collective : collectives)
    for (const auto size : sizes)
      for (const int root : roots)
        for (const auto& variant : variants) {
          if (!variant.only.empty() && variant.only != collective) continue;
          if (!is_rooted(collective) && root != roots.front()) continue;
          cells.push_back({collective, size, is_rooted(collective) ? root : 0, variant});
        }
  return cells;
}

Options parse(int argc, char** argv, int ranks) {
  Options options;
  if (const char* dilation = std::getenv("THALWEG_LAB_DILATION"))
    options.dilation = number<double>("THALWEG_LAB_DILATION", dilation);
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(option + " needs a value after it");
    const std::string value = argv[i + 1];
    if (option == "--collective")
      options.collectives.push_back(known_collective(value));
    else if (option == "--size")
      options.sizes.push_back(units::parse_size(value));
    else if (option == "--root")
      options.roots.push_back(number<int>(option, value));
    else if (option == "--variant")
      options.variants.push_back(parse_variant(value));
    else if (option == "--repetitions")
      options.repetitions = number<int>(option, value);
    else if (option == "--seed")
      options.seed = number<std::uint64_t>(option, value);
    else if (option == "--dilation")
      options.dilation = number<double>(option, value);
    else if (option == "--output")
      options.output = value;
    else
      throw std::invalid_argument("unknown option " + option);
  }
  if (options.roots.empty()) options.roots = {0};
  if (options.variants.empty()) options.variants = {{"native", ""}};
  check(options, ranks);
  return options;
}

} // namespace thalweg::bench
