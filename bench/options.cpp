#include "options.hpp"

#include "collective/collective.hpp"
#include "operation.hpp"

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
  (void)collective::parse_kind(name);
  return name;
}

/// Takes what stands before the next comma off the front of `text`.
std::string next_field(std::string& text, const std::string& whole) {
  const auto comma = text.find(',');
  if (comma == std::string::npos)
    throw std::invalid_argument("--cell " + whole + " is not COLLECTIVE,SIZE,ROOT,VARIANT");
  std::string field = text.substr(0, comma);
  text.erase(0, comma + 1);
  return field;
}

Cell parse_cell(std::string text, int ranks) {
  const std::string whole = text;
  Cell cell;
  cell.collective = known_collective(next_field(text, whole));
  cell.size = units::parse_size(next_field(text, whole));
  cell.root = number<int>("--cell " + whole, next_field(text, whole));
  cell.variant = text; // may contain commas
  if (cell.root < 0 || cell.root >= ranks)
    throw std::invalid_argument("--cell " + whole + ": the root is not one of the " +
                                std::to_string(ranks) + " ranks");
  return cell;
}

void check(const ProgramOptions& options) {
  if (options.cells.empty()) throw std::invalid_argument("give at least one --cell");
  if (options.repetitions < 1) throw std::invalid_argument("--repetitions must be at least 1");
  if (options.calls < 1) throw std::invalid_argument("--calls must be at least 1");
  if (options.warm_ups < 0) throw std::invalid_argument("--warm-ups must be at least 0");
  if (!(options.dilation > 0)) throw std::invalid_argument("--dilation must be above 0");
}

} // namespace

std::string Cell::force() const {
  if (variant == "native") return "native";
  if (variant == "thalweg") return "";
  return collective + "=" + variant;
}

ProgramOptions parse(int argc, char** argv, int ranks) {
  ProgramOptions options;
  if (const char* dilation = std::getenv("THALWEG_LAB_DILATION"))
    options.dilation = number<double>("THALWEG_LAB_DILATION", dilation);
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(option + " needs a value after it");
    const std::string value = argv[i + 1];
    if (option == "--cell")
      options.cells.push_back(parse_cell(value, ranks));
    else if (option == "--warm-ups")
      options.warm_ups = number<int>(option, value);
    else if (option == "--repetitions")
      options.repetitions = number<int>(option, value);
    else if (option == "--calls")
      options.calls = number<int>(option, value);
    else if (option == "--seed")
      options.seed = number<std::uint64_t>(option, value);
    else if (option == "--dilation")
      options.dilation = number<double>(option, value);
    else if (option == "--output")
      options.output = value;
    else
      throw std::invalid_argument("unknown option " + option);
  }
  check(options);
  return options;
}

} // namespace thalweg::bench
