#pragma once

#include "units/fields.hpp"
#include "units/hash.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Little-endian bytes, independent of the machine's order.
namespace thalweg::planner {

/// FNV-1a, 64 bits.
constexpr std::uint64_t checksum(std::span<const std::byte> bytes) {
  Fnv1a hash;
  hash.add_bytes(bytes);
  return hash.value();
}

/// Numbers that are in memory as they are in a file, so that lists of them are copied as a whole.
template <class T>
concept AsInFile = std::is_arithmetic_v<T> && !std::same_as<T, bool> &&
                   (std::endian::native == std::endian::little);

class Writer {
public:
  template <std::integral T>
  void put(T value) {
    auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      _bytes.push_back(static_cast<std::byte>(bits & 0xff));
      if constexpr (sizeof(T) > 1) bits = static_cast<decltype(bits)>(bits >> 8);
    }
  }
  void put(bool value) { put(static_cast<std::uint8_t>(value)); }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  void put(float value) { put(std::bit_cast<std::uint32_t>(value)); }
  void put(const std::string& text) {
    put_count(text.size());
    for (const char c : text)
      put(static_cast<std::uint8_t>(c));
  }
  template <class Tag>
  void put(units::Quantity<Tag> value) {
    put(value.value());
  }
  template <units::Named T>
  void put(T value) {
    put(static_cast<std::underlying_type_t<T>>(value));
  }
  /// Puts the first name for no value, which can't have that name.
  template <units::Named T>
  void put(std::optional<T> value) {
    put(value.value_or(T{}));
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put_count(values.size());
    if constexpr (AsInFile<T>)
      put(std::as_bytes(std::span(values)));
    else
      for (const T& value : values)
        put(value);
  }
  template <class T>
  void put(const std::map<std::string, T>& values) {
    put_count(values.size());
    for (const auto& [key, value] : values) {
      put(key);
      put(value);
    }
  }
  template <units::Described T>
  void put(const T& value) {
    units::for_each_field<T>([&](const auto& field) { put(value.*field.member); });
  }
  void put(std::span<const std::byte> bytes) {
    _bytes.insert(_bytes.end(), bytes.begin(), bytes.end());
  }
  void put_count(std::size_t count) { put(static_cast<std::uint64_t>(count)); }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(_bytes); }

private:
  std::vector<std::byte> _bytes;
};

/// Each get() throws std::invalid_argument if the bytes end too early.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : _left(bytes) {}

  template <std::integral T>
  T get() {
    if (_left.size() < sizeof(T)) fail();
    std::make_unsigned_t<T> bits = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) {
      if constexpr (sizeof(T) > 1) bits = static_cast<decltype(bits)>(bits << 8);
      bits = static_cast<decltype(bits)>(bits | std::to_integer<decltype(bits)>(_left[i]));
    }
    _left = _left.subspan(sizeof(T));
    return static_cast<T>(bits);
  }
  bool get_bool() {
    const auto value = get<std::uint8_t>();
    if (value > 1) fail();
    return value == 1;
  }
  double get_double() { return std::bit_cast<double>(get<std::uint64_t>()); }
  float get_float() { return std::bit_cast<float>(get<std::uint32_t>()); }
  std::string get_string() {
    std::string text(get_count(1), '\0');
    for (char& c : text)
      c = static_cast<char>(get<std::uint8_t>());
    return text;
  }
  template <std::integral T>
  std::vector<T> get_vector() {
    std::vector<T> values(get_count(sizeof(T)));
    for (T& value : values)
      value = get<T>();
    return values;
  }
  // The same, into a value of any type that a Writer takes.
  template <std::integral T>
  void read(T& value) {
    if constexpr (std::same_as<T, bool>)
      value = get_bool();
    else
      value = get<T>();
  }
  void read(double& value) { value = get_double(); }
  void read(float& value) { value = get_float(); }
  void read(std::string& value) { value = get_string(); }
  template <class Tag>
  void read(units::Quantity<Tag>& value) {
    value = units::Quantity<Tag>(get_double());
  }
  template <units::Named T>
  void read(T& value) {
    value = static_cast<T>(get<std::underlying_type_t<T>>());
    if (!units::is_within(value, 0, 0)) fail();
  }
  template <units::Named T>
  void read(std::optional<T>& value) {
    T named{};
    read(named);
    if (named != T{}) value = named;
  }
  template <class T>
  void read(std::vector<T>& values) {
    values.resize(get_count(least_bytes<T>()));
    if constexpr (AsInFile<T>)
      std::ranges::copy(get_bytes(values.size() * sizeof(T)),
                        std::as_writable_bytes(std::span(values)).begin());
    else
      for (T& value : values)
        read(value);
  }
  template <class T>
  void read(std::map<std::string, T>& values) {
    for (std::size_t left = get_count(least_bytes<std::string>() + least_bytes<T>()); left > 0;
         --left) {
      std::string key = get_string();
      read(values[std::move(key)]);
    }
  }
  /// Fails also if a number is out of its field's range.
  template <units::Described T>
  void read(T& value) {
    units::for_each_field<T>([&](const auto& field) { read(value.*field.member); });
    if (!units::wrong_field(value).empty()) fail();
  }

  std::span<const std::byte> get_bytes(std::size_t count) {
    require_left(count, 1);
    const auto bytes = _left.first(count);
    _left = _left.subspan(count);
    return bytes;
  }
  /// Returns the count of elements of at least `element_size` bytes, which must still be there.
  std::size_t get_count(std::size_t element_size) {
    const auto count = get<std::uint64_t>();
    if (count > _left.size() / element_size) fail();
    return static_cast<std::size_t>(count);
  }
  void require_left(std::size_t count, std::size_t element_size) const {
    if (count > _left.size() / element_size) fail();
  }
  [[nodiscard]] std::span<const std::byte> rest() const { return _left; }
  [[nodiscard]] bool empty() const { return _left.empty(); }
  [[noreturn]] static void fail() {
    throw std::invalid_argument("the file is damaged: make it anew with thalweg plan");
  }

private:
  /// The number of bytes that a value takes.
  template <class T>
  static constexpr std::size_t least_bytes() {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      return sizeof(T);
    } else if constexpr (requires(T value) { value.has_value(); }) {
      return least_bytes<typename T::value_type>();
    } else if constexpr (units::Described<T>) {
      std::size_t sum = 0;
      units::for_each_field<T>([&]<class Value>(const units::Field<T, Value>& /*field*/) {
        sum += least_bytes<Value>();
      });
      return sum;
    } else {
      return 8; // a count, or a double
    }
  }

  std::span<const std::byte> _left;
};

} // namespace thalweg::planner
