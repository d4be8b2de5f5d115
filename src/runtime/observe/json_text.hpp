#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Texts, numbers and lists as JSON.
namespace thalweg::runtime::observe {

/// Returns a text in quotes. What isn't UTF-8 becomes U+FFFD.
std::string quoted(std::string_view text);

/// Returns nanoseconds in seconds.
std::string seconds(double ns);
inline std::string seconds(std::int64_t ns) { return seconds(static_cast<double>(ns)); }

/// Returns a number rounded to some significant digits.
std::string digits(double value, int significant);

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
