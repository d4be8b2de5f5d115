#pragma once

#include "units/units.hpp"

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

/// JSON values that know their places, and readers of numbers: their errors name the place and the
/// remedy.
namespace thalweg::network {

/// @throws std::invalid_argument
[[noreturn]] void fail(const std::string& message);
std::string in_quotes(std::string_view text);
/// Returns the word that takes the fewest edits to write; `known` isn't empty.
std::string nearest(std::string_view word, std::span<const std::string_view> known);

/// A value and its place: "trunks[0].from".
struct Node {
  const nlohmann::json& value;
  std::string path;

  [[noreturn]] void fail(const std::string& why) const;
  /// Throws an error that describes the value.
  [[noreturn]] void fail_value(const std::string& advice) const;
  /// Throws an error that a name isn't what it should be ("a collective"), with the nearest one.
  [[noreturn]] void fail_name(std::string_view name, std::string_view what,
                              std::span<const std::string_view> known) const;
  [[nodiscard]] Node operator[](std::string_view key) const;
  [[nodiscard]] Node operator[](std::size_t index) const;
  /// Whether the key is there and not null.
  [[nodiscard]] bool has(std::string_view key) const;
  /// Returns the length of a list.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::string text() const;
  void check_object() const;
  /// Checks that the value is an object without other keys.
  void check_keys(std::span<const std::string_view> known) const;
  void check_keys(std::initializer_list<std::string_view> known) const {
    check_keys(std::span(known.begin(), known.size()));
  }
};

/// Describes a value and its place; called only for an error, since matrices are large.
using Describe = std::function<std::string()>;

/// Reads a number in units of `unit`, or text with its own unit.
units::Time read_time(const nlohmann::json& value, const Describe& describe,
                      units::Time unit = units::Time(1));
units::Time read_time(const Node& node);
/// The same for a rate; null: infinite, or not measured.
units::Rate read_rate(const nlohmann::json& value, const Describe& describe,
                      units::Rate unit = units::Rate(1));
units::Rate read_rate(const Node& node);
units::Size read_size(const Node& node);
/// Reads a whole number of at least 0.
std::int32_t read_count(const Node& node);
/// Reads a number of at least 0.
double read_share(const Node& node);

} // namespace thalweg::network
