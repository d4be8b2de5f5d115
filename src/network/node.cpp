#include "network/node.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace thalweg::network {
namespace {

using nlohmann::json;
using units::Rate;
using units::Size;
using units::Time;

/// Returns the number of insertions, deletions, replacements and swaps of neighbours between two
/// words.
std::size_t edits(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      const auto at = [&](std::size_t di, std::size_t dj) {
        return table[(i - di) * width + (j - dj)];
      };
      std::size_t& best = table[i * width + j];
      best = i == 0 || j == 0 ? i + j : at(1, 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      if (i == 0 || j == 0) continue;
      best = std::min({best, at(0, 1) + 1, at(1, 0) + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best = std::min(best, at(2, 2) + 1);
    }
  }
  return table.back();
}

/// Reads a number in units of `unit`, or text with its own unit.
template <class Q, class Valid>
Q read_quantity(const json& value, const Describe& describe, Q (*parse)(std::string_view), Q unit,
                Valid valid, const char* advice) {
  if (value.is_number()) {
    const Q result = value.get<double>() * unit;
    if (valid(result.value())) return result;
  } else if (value.is_string()) {
    try {
      return parse(value.get<std::string>());
    } catch (const std::invalid_argument& error) {
      fail(describe() + ": " + error.what());
    }
  }
  fail(describe() + " is " + value.dump() + ": " + advice);
}

} // namespace

void fail(const std::string& message) { throw std::invalid_argument(message); }

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string nearest(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t longest = 64; // Comparing takes the product of both lengths.
  return std::string(*std::ranges::min_element(known, {}, [&](std::string_view candidate) {
    return edits(word.substr(0, longest), candidate.substr(0, longest));
  }));
}

void Node::fail(const std::string& why) const {
  network::fail(path.empty() ? why : path + ": " + why);
}

void Node::fail_value(const std::string& advice) const {
  network::fail(path + " is " + value.dump() + ": " + advice);
}

void Node::fail_name(std::string_view name, std::string_view what,
                     std::span<const std::string_view> known) const {
  const std::string what_is_wrong = in_quotes(name) + " is not " + std::string(what);
  if (known.empty()) fail(what_is_wrong);
  fail(what_is_wrong + ": did you mean " + in_quotes(nearest(name, known)) + "?");
}

Node Node::operator[](std::string_view key) const {
  const auto found = value.find(key);
  if (found == value.end()) fail("the key " + in_quotes(key) + " is missing: add it");
  return {*found, path.empty() ? std::string(key) : path + "." + std::string(key)};
}

Node Node::operator[](std::size_t index) const {
  return {value[index], path + "[" + std::to_string(index) + "]"};
}

bool Node::has(std::string_view key) const {
  const auto found = value.find(key);
  return found != value.end() && !found->is_null();
}

std::size_t Node::size() const {
  if (!value.is_array()) fail("must be a list");
  return value.size();
}

std::string Node::text() const {
  if (!value.is_string()) fail("must be text in quotes");
  return value.get<std::string>();
}

void Node::check_object() const {
  if (!value.is_object()) fail("must be an object, in braces");
}

void Node::check_keys(std::span<const std::string_view> known) const {
  check_object();
  for (const auto& item : value.items())
    if (std::ranges::find(known, item.key()) == known.end())
      fail("the key " + in_quotes(item.key()) + " is unknown: did you mean " +
           in_quotes(nearest(item.key(), known)) + "?");
}

Time read_time(const json& value, const Describe& describe, Time unit) {
  const auto valid = [](double v) { return v >= 0 && std::isfinite(v); };
  return read_quantity(value, describe, units::parse_time, unit, valid, "must be at least 0");
}

Rate read_rate(const json& value, const Describe& describe, Rate unit) {
  if (value.is_null()) return Rate::infinity();
  const auto valid = [](double v) { return v > 0 && std::isfinite(v); };
  return read_quantity(value, describe, units::parse_rate, unit, valid,
                       "must be above 0, or null if unlimited or not measured");
}

Time read_time(const Node& node) {
  return read_time(node.value, [&] { return node.path; });
}

Rate read_rate(const Node& node) {
  return read_rate(node.value, [&] { return node.path; });
}

Size read_size(const Node& node) {
  if (node.value.is_number_integer() && node.value >= 0 &&
      node.value <= std::numeric_limits<Size>::max())
    return node.value.get<Size>();
  if (!node.value.is_string())
    node.fail("must be a whole number of bytes of at least 0, or text such as \"64KB\"");
  try {
    return units::parse_size(node.value.get<std::string>());
  } catch (const std::invalid_argument& error) {
    node.fail(error.what());
  }
}

std::int32_t read_count(const Node& node) {
  if (node.value.is_number_integer() && node.value >= 0 &&
      node.value <= std::numeric_limits<std::int32_t>::max())
    return node.value.get<std::int32_t>();
  node.fail_value("must be a whole number of at least 0");
}

double read_share(const Node& node) {
  const double share = node.value.is_number() ? node.value.get<double>() : -1;
  if (!(share >= 0)) node.fail_value("must be a number of at least 0");
  return share;
}

} // namespace thalweg::network
