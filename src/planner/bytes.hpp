#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/// Little-endian bytes, independent of the machine's order.
namespace thalweg::planner {

/// FNV-1a, 64 bits.
constexpr std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

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
  template <std::integral T>
  void put(const std::vector<T>& values) {
    put_count(values.size());
    for (const T value : values)
      put(value);
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
  std::span<const std::byte> _left;
};

} // namespace thalweg::planner
