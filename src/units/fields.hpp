#pragma once

#include "units/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// One table describes a struct's fields; bytes, text, hashes and Python follow from it. A struct
/// is described by a static member function that lists its fields, in the order in which they are
/// written:
///
///     struct Point {
///       std::int32_t x = 0;
///       std::vector<Time> visits;
///       static constexpr auto fields() {
///         return std::tuple{Field("x", &Point::x, 0), Field("visits", &Point::visits)};
///       }
///     };
///
/// for_each_field() iterates over them, here to hash it:
///
///     for_each_field<Point>([&](const auto& field) { hash.add(point.*field.member); });
///
/// An operation on each value has overloads for numbers, enums, vectors, and structs with their own
/// tables. planner/bytes.hpp writes and reads bytes in this manner.
namespace thalweg::units {

/// One field of a struct.
template <class Struct, class Value>
struct Field {
  constexpr Field(std::string_view its_name, Value Struct::*its_member,
                  std::int64_t its_least = std::numeric_limits<std::int64_t>::min(),
                  std::int64_t its_most = std::numeric_limits<std::int64_t>::max())
      : name(its_name), member(its_member), least(its_least), most(its_most) {}

  /// Marks a field that JSON and Python may leave out: it then has its default.
  [[nodiscard]] constexpr Field optional() const {
    Field marked = *this;
    marked.is_optional = true;
    return marked;
  }

  std::string_view name; ///< in text, in JSON and in Python
  Value Struct::*member;
  std::int64_t least, most; ///< for a whole number, or each in a vector
  bool is_optional = false;
};

/// A struct with a table of its fields.
template <class T>
concept Described = requires {
  T::fields();
};

/// Calls visit(field) for each field of a table, in its order.
template <class Table, class Visit>
constexpr void for_each_in(const Table& table, Visit visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, table);
}

/// Calls visit(field) for each field of a struct, in the order of its table.
template <Described T, class Visit>
constexpr void for_each_field(Visit visit) {
  for_each_in(T::fields(), visit);
}

/// An enum whose values, from 0 on without gaps, have names: `constexpr auto names_of(Order)` in
/// its namespace returns them as a std::array.
template <class T>
concept Named = std::is_enum_v<T> && requires(T value) {
  names_of(value).size();
};

template <Named T>
[[nodiscard]] constexpr std::string_view name_of(T value) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

/// Returns the value of this name, if there is one.
template <Named T>
[[nodiscard]] constexpr std::optional<T> value_named(std::string_view name) {
  const auto names = names_of(T{});
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<T>(found - names.begin());
}

/// Lists the names from that of `first` on, for errors: "\"none\", \"shared\" or \"ptp\"".
template <Named T>
[[nodiscard]] std::string list_names(T first = {}) {
  const auto names = names_of(first);
  std::string list;
  for (std::size_t i = static_cast<std::size_t>(first); i < names.size(); ++i) {
    if (!list.empty()) list += i + 1 < names.size() ? ", " : " or ";
    list += '"' + std::string(names[i]) + '"';
  }
  return list;
}

template <Described T>
[[nodiscard]] constexpr std::string_view wrong_field(const T& value);

/// Whether a value's whole numbers, and those inside it, are in the ranges of their fields.
template <class T>
[[nodiscard]] constexpr bool is_within(const T& value, std::int64_t least, std::int64_t most) {
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    return std::cmp_greater_equal(value, least) && std::cmp_less_equal(value, most);
  } else if constexpr (Named<T>) {
    return static_cast<std::size_t>(value) < names_of(value).size();
  } else if constexpr (Described<T>) {
    return wrong_field(value).empty();
  } else if constexpr (requires { value.has_value(); }) {
    return !value || is_within(*value, least, most);
  } else if constexpr (requires { typename T::value_type; } && !std::same_as<T, std::string>) {
    for (const auto& each : value)
      if (!is_within(each, least, most)) return false;
    return true;
  } else {
    return true;
  }
}

/// Returns the name of the first field with a number out of its range; empty if there is none.
template <Described T>
[[nodiscard]] constexpr std::string_view wrong_field(const T& value) {
  std::string_view wrong;
  for_each_field<T>([&](const auto& field) {
    if (wrong.empty() && !is_within(value.*field.member, field.least, field.most))
      wrong = field.name;
  });
  return wrong;
}

// Text: the value of a field, and "name=value,name=value" for a struct.

/// Prints a whole number, a Size as "64KiB" where that is exact, a name, or the result of
/// to_text().
template <class T>
[[nodiscard]] std::string value_to_text(const T& value) {
  if constexpr (Named<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::same_as<T, Size>) {
    const std::string text = size_to_text(value);
    return value >= 0 && parse_size(text) == value ? text : std::to_string(value) + "B";
  } else if constexpr (std::integral<T>) {
    return std::to_string(value);
  } else {
    return to_text(value);
  }
}

/// Returns the form of a field's text: "<size>", "<whole number from 2>", "close|printed".
template <class Struct, class T>
[[nodiscard]] std::string expected_text(const Field<Struct, T>& field) {
  if constexpr (Named<T>) {
    std::string text;
    for (const std::string_view name : names_of(T{}))
      text += (text.empty() ? "" : "|") + std::string(name);
    return text;
  } else if constexpr (std::same_as<T, Size>) {
    return "<size>";
  } else if constexpr (std::integral<T>) {
    return "<whole number from " + std::to_string(field.least) + ">";
  } else {
    return "<" + std::string(field.name) + ">";
  }
}

/// Sets a field from text; returns false if the text isn't as expected_text() says. Types with
/// their own text form have from_text(text, value), which throws.
template <class Struct, class T>
[[nodiscard]] bool set_from_text(Struct& target, const Field<Struct, T>& field,
                                 std::string_view text) {
  T value{};
  if constexpr (Named<T>) {
    const std::optional<T> named = value_named<T>(text);
    if (!named) return false;
    value = *named;
  } else if constexpr (std::same_as<T, Size>) {
    value = parse_size(text);
  } else if constexpr (std::integral<T>) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return false;
  } else {
    from_text(text, value);
  }
  if (!is_within(value, field.least, field.most)) return false;
  target.*field.member = std::move(value);
  return true;
}

/// Returns the fields that differ from a default struct: "segment_size=64KiB,degree=4"; empty:
/// none.
template <Described T>
[[nodiscard]] std::string fields_to_text(const T& value) {
  const T usual{};
  std::string text;
  for_each_field<T>([&](const auto& field) {
    if (value.*field.member == usual.*field.member) return;
    text += (text.empty() ? "" : ",") + std::string(field.name) + "=" +
            value_to_text(value.*field.member);
  });
  return text;
}

/// Sets the field that "name=value" names.
/// @throws std::invalid_argument saying what is expected, without the assignment
template <Described T>
void assign(T& target, std::string_view assignment) {
  const auto equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  const std::string_view text =
      equals == std::string_view::npos ? std::string_view() : assignment.substr(equals + 1);
  bool known = false;
  std::string all;
  for_each_field<T>([&](const auto& field) {
    const std::string expected = std::string(field.name) + "=" + expected_text(field);
    all += (all.empty() ? "" : ", ") + expected;
    if (field.name != name) return;
    known = true;
    if (!set_from_text(target, field, text)) throw std::invalid_argument("expected " + expected);
  });
  if (!known) throw std::invalid_argument("expected one of " + all);
}

} // namespace thalweg::units
