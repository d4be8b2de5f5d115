#include "runtime/observe/json_text.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>

namespace thalweg::runtime::observe {
namespace {

/// Returns the bytes of the UTF-8 character that a text begins with; 0: they are none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t at) -> std::uint32_t {
    return static_cast<unsigned char>(text[at]);
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc0 || lead >= 0xf8 || text.size() < bytes) return 0;
  std::uint32_t code = lead & (0x7fU >> bytes);
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
    code = code << 6U | (byte(at) & 0x3f);
  }
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code >= least[bytes] && code <= 0x10ffff && !is_surrogate ? bytes : 0;
}

/// Numbers in JSON have a point, whatever locale the program has set, which printf() follows.
std::string number(double value, std::chars_format format, int precision) {
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, format, precision);
  return error == std::errc() ? std::string(text.data(), end) : "null";
}

} // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, bytes);
    if (character == "\"" || character == "\\") result += '\\';
    if (bytes == 0) {
      result += "\ufffd";
    } else if (static_cast<unsigned char>(text.front()) < 0x20) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(text.front()));
      result += escaped.data();
    } else {
      result += character;
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return result + "\"";
}

std::string seconds(double ns) { return number(ns * 1e-9, std::chars_format::fixed, 9); }

std::string digits(double value, int significant) {
  return number(value, std::chars_format::general, significant);
}

} // namespace thalweg::runtime::observe
