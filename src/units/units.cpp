#include "units/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>

namespace thalweg::units {
namespace {

/// `numerator / denominator` base units, kept apart so that "10ms" is exactly the double nearest to
/// 0.01.
struct Unit {
  std::string_view name;
  double numerator = 1, denominator = 1;
};

// Each list is ascending: texts are printed in the largest unit that fits.
constexpr std::array<Unit, 6> time_units{
    {{"ns", 1, 1e9}, {"us", 1, 1e6}, {"ms", 1, 1e3}, {"s"}, {"min", 60}, {"h", 3600}}};

struct SizeUnit {
  std::string_view name;
  Size bytes;
};
constexpr Size kib = 1024, mib = kib * kib, gib = mib * kib, tib = gib * kib;
constexpr std::array<SizeUnit, 5> decimal_units{
    {{"B", 1}, {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000}}};
constexpr std::array<SizeUnit, 4> binary_units{
    {{"KiB", kib}, {"MiB", mib}, {"GiB", gib}, {"TiB", tib}}};

constexpr std::array<Unit, 5> bit_rates{
    {{"bps", 1, 8}, {"Kbps", 1e3, 8}, {"Mbps", 1e6, 8}, {"Gbps", 1e9, 8}, {"Tbps", 1e12, 8}}};
constexpr std::array<Unit, 14> other_rates{{{"bit/s", 1, 8},
                                            {"Kbit/s", 1e3, 8},
                                            {"Mbit/s", 1e6, 8},
                                            {"Gbit/s", 1e9, 8},
                                            {"Tbit/s", 1e12, 8},
                                            {"B/s"},
                                            {"KB/s", 1e3},
                                            {"MB/s", 1e6},
                                            {"GB/s", 1e9},
                                            {"TB/s", 1e12},
                                            {"KiB/s", static_cast<double>(kib)},
                                            {"MiB/s", static_cast<double>(mib)},
                                            {"GiB/s", static_cast<double>(gib)},
                                            {"TiB/s", static_cast<double>(tib)}}};

[[noreturn]] void reject(std::string_view what, std::string_view text, std::string_view advice) {
  throw std::invalid_argument("\"" + std::string(text) + "\" is not a " + std::string(what) + ": " +
                              std::string(advice));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Digits with at most one point, and the text after them.
struct Split {
  std::string_view number, unit;
};

Split split(std::string_view text) {
  text = trimmed(text);
  auto end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos) end = text.size();
  // An exponent belongs to the number only if a digit follows: "1e3s", but not "1 exa".
  if (end > 0 && end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    auto digits = end + 1;
    if (digits < text.size() && (text[digits] == '-' || text[digits] == '+')) ++digits;
    const auto last = text.find_first_not_of("0123456789", digits);
    if (last != digits && digits < text.size()) end = std::min(last, text.size());
  }
  return {text.substr(0, end), trimmed(text.substr(end))};
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// Compares unit names; "kB" and "kbps" are as common as "KB" and "Kbps".
bool same_unit(std::string_view text, std::string_view name) {
  return text == name ||
         (text.size() > 1 && text[0] == 'k' && name[0] == 'K' && text.substr(1) == name.substr(1));
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units)
    if (same_unit(name, unit.name)) return &unit;
  return nullptr;
}

std::string three_digits(double value) {
  std::array<char, 64> text{};
  auto end = std::to_chars(text.begin(), text.end(), value, std::chars_format::scientific, 2).ptr;
  std::from_chars(text.begin(), end, value);
  // More digits would tell nothing, and might not fit.
  const auto format =
      std::abs(value) < 1e15 ? std::chars_format::fixed : std::chars_format::scientific;
  end = std::to_chars(text.begin(), text.end(), value, format).ptr;
  return {text.begin(), end};
}

/// Rounds before it chooses the unit, so that 999.9us is printed as 1ms.
std::string print(double value, std::span<const Unit> units) {
  for (std::size_t i = units.size(); i-- > 0;) {
    const std::string number = three_digits(value * units[i].denominator / units[i].numerator);
    if (i == 0 || (number[0] != '0' && number.substr(0, 2) != "-0"))
      return number + std::string(units[i].name);
  }
  return {};
}

constexpr std::string_view time_advice =
    "write a number of at least 0 and a unit (ns, us, ms, s, min or h), as in \"10ms\"";
constexpr std::string_view size_advice =
    "write a whole number of bytes, as in \"8MB\", \"64KiB\" or \"512\" "
    "(units B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)";
constexpr std::string_view rate_advice =
    "write a number above 0 and a unit of bits (bps, Kbps, Mbps, Gbps, Tbps, Mbit/s) or bytes "
    "(B/s, KB/s, MB/s, GB/s, MiB/s), as in \"1Gbps\"";

Size size_unit(std::string_view name, std::string_view text) {
  if (name.empty()) return 1;
  for (const SizeUnit& unit : decimal_units)
    if (same_unit(name, unit.name)) return unit.bytes;
  for (const SizeUnit& unit : binary_units)
    if (same_unit(name, unit.name)) return unit.bytes;
  reject("size", text, size_advice);
}

/// Returns `digits` × unit / 10^decimals, if that is whole and fits.
std::optional<Size> exact_size(Size digits, Size unit, std::size_t decimals) {
  for (; decimals > 0; --decimals) {
    // Divides the unit by each factor of ten as far as possible, then the digits.
    for (const Size prime : {Size{2}, Size{5}}) {
      if (unit % prime == 0)
        unit /= prime;
      else if (digits % prime == 0)
        digits /= prime;
      else
        return {};
    }
  }
  Size bytes = 0;
  if (__builtin_mul_overflow(digits, unit, &bytes)) return {};
  return bytes;
}

} // namespace

Time parse_time(std::string_view text) {
  const auto [number, name] = split(text);
  const auto value = parse_number(number);
  if (!value) reject("time", text, time_advice);
  if (name.empty() && *value == 0) return Time(0);
  const Unit* unit = find_unit(time_units, name);
  if (unit == nullptr) reject("time", text, time_advice);
  const double seconds = *value * unit->numerator / unit->denominator;
  if (!std::isfinite(seconds)) reject("time", text, "it is too large");
  return Time(seconds);
}

Size parse_size(std::string_view text) {
  const auto [number, name] = split(text);
  const Size unit = size_unit(name, text);
  const auto point = number.find('.');
  std::string digits(number);
  if (point != std::string_view::npos) digits.erase(point, 1);
  Size value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) reject("size", text, "it is too large");
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    reject("size", text, size_advice);
  const auto bytes =
      exact_size(value, unit, point == std::string_view::npos ? 0 : number.size() - point - 1);
  if (!bytes) reject("size", text, "it is not a whole number of bytes below 2^63");
  return *bytes;
}

Rate parse_rate(std::string_view text) {
  const auto [number, name] = split(text);
  const auto value = parse_number(number);
  if (!value) reject("rate", text, rate_advice);
  const Unit* unit = find_unit(bit_rates, name);
  if (unit == nullptr) unit = find_unit(other_rates, name);
  if (unit == nullptr) reject("rate", text, rate_advice);
  const double rate = *value * unit->numerator / unit->denominator;
  if (!(rate > 0)) reject("rate", text, rate_advice);
  if (!std::isfinite(rate)) reject("rate", text, "it is too large");
  return Rate(rate);
}

std::string to_text(Time time) {
  const double seconds = time.value();
  if (std::isnan(seconds)) return "unknown";
  if (std::isinf(seconds)) return seconds > 0 ? "infinite" : "-infinite";
  if (seconds == 0) return "0s";
  return print(seconds, time_units);
}

std::string size_to_text(Size size) {
  std::array<Unit, decimal_units.size()> units;
  for (std::size_t i = 0; i < units.size(); ++i)
    units[i] = {decimal_units[i].name, static_cast<double>(decimal_units[i].bytes), 1};
  std::string text = print(static_cast<double>(size), units);
  if (size >= 0 && size == parse_size(text)) return text;
  for (std::size_t i = binary_units.size(); i-- > 0;)
    if (size % binary_units[i].bytes == 0 && size / binary_units[i].bytes < kib)
      return std::to_string(size / binary_units[i].bytes) + std::string(binary_units[i].name);
  return text;
}

std::string to_text(Rate rate) {
  const double value = rate.value();
  if (std::isnan(value)) return "unknown";
  if (std::isinf(value)) return value > 0 ? "unlimited" : "-unlimited";
  return print(value, bit_rates);
}

} // namespace thalweg::units
