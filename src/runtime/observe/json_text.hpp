#pragma once

#include <cstdio>
#include <string>
#include <string_view>

/// Texts and lists as JSON.
namespace thalweg::runtime::observe {

inline std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

/// @param text makes JSON of an item
template <class Items, class Text>
std::string list(const Items& items, const Text& text) {
  std::string result;
  for (const auto& item : items)
    result += (result.empty() ? "" : ", ") + text(item);
  return "[" + result + "]";
}

template <class Strings>
std::string list(const Strings& strings) {
  return list(strings, [](const auto& text) { return quoted(std::string_view(text)); });
}

} // namespace thalweg::runtime::observe
