#include "network/parse.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace thalweg::network {
namespace {

using nlohmann::json;

/// Receives all lists, objects and keys; throws at those that a network file never has.
class Strict {
public:
  /// Handles the beginning of a list or an object.
  void open() {
    constexpr std::size_t deepest = 16;
    if (_keys.size() == deepest)
      throw std::invalid_argument("lists and objects stand in each other too deeply");
    _keys.emplace_back();
  }
  void close() { _keys.pop_back(); }
  void key(const std::string& name) {
    if (!_keys.back().insert(name).second)
      throw std::invalid_argument("the key " + json(name).dump() +
                                  " stands twice in one object: remove one of them");
  }

private:
  std::vector<std::set<std::string>> _keys; ///< of each open list and object
};

/// Returns the library's message without its name: "parse error at line 3, column 5: ...".
std::string plain(const json::exception& error) {
  const std::string_view text = error.what();
  const auto end = text.find("] ");
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

/// Reads CBOR. The library's own reader recurses for each level, also for tags and for strings in
/// parts, and reports no keys and levels while it keeps tags.
class CborReader {
public:
  explicit CborReader(std::string_view bytes) : _bytes(bytes) {}

  json read() {
    json result = value(head());
    if (_at != _bytes.size()) fail("something follows the end");
    return result;
  }

private:
  /// Major types.
  enum class Type : std::uint8_t { natural, negative, bytes, text, list, object, tag, simple };

  /// The beginning of each item.
  struct Head {
    Type type;
    std::uint8_t info;      ///< length of the argument, or the argument itself
    std::uint64_t argument; ///< a value, a length, or a number of entries

    /// Whether the length is open: the item then ends with a break.
    [[nodiscard]] bool is_open() const { return info == open_length && type != Type::simple; }
    [[nodiscard]] bool is_break() const { return info == open_length && type == Type::simple; }
  };
  static constexpr std::uint8_t open_length = 31;

  [[noreturn]] void fail(const std::string& why) const {
    throw std::invalid_argument("not CBOR: parse error at byte " + std::to_string(_at) + ": " +
                                why);
  }

  std::string_view take(std::uint64_t count) {
    if (count > _bytes.size() - _at) fail("the end is missing");
    const std::string_view taken = _bytes.substr(_at, count);
    _at += count;
    return taken;
  }

  /// Reads a big-endian number.
  std::uint64_t number(std::uint64_t bytes) {
    std::uint64_t result = 0;
    for (const char byte : take(bytes))
      result = result << 8 | static_cast<std::uint8_t>(byte);
    return result;
  }

  Head head() {
    const std::uint64_t first = number(1);
    Head head{static_cast<Type>(first >> 5), static_cast<std::uint8_t>(first & 31), first & 31};
    constexpr std::uint8_t one_byte = 24, eight_bytes = 27;
    if (head.info < one_byte) return head;
    if (head.info <= eight_bytes)
      head.argument = number(std::uint64_t{1} << (head.info - one_byte));
    else if (!head.is_break() &&
             !(head.is_open() && head.type >= Type::bytes && head.type < Type::tag))
      fail("no item begins with this byte");
    return head;
  }

  json value(Head head) {
    std::optional<std::uint64_t> tag;
    for (; head.type == Type::tag; head = this->head())
      tag = head.argument;
    switch (head.type) {
    case Type::natural:
      return head.argument;
    case Type::negative:
      return negative(head);
    case Type::bytes:
      return binary(head, tag);
    case Type::text:
      return text(head);
    case Type::list:
      return list(head);
    case Type::object:
      return object(head);
    default:
      return simple(head);
    }
  }

  json negative(const Head& head) const {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (head.argument > most) fail("the number is too far below zero");
    return -1 - static_cast<std::int64_t>(head.argument);
  }

  json simple(const Head& head) const {
    switch (head.info) {
    case 20:
      return false;
    case 21:
      return true;
    case 22:
      return nullptr;
    case 25:
      return from_half(static_cast<std::uint16_t>(head.argument));
    case 26:
      return std::bit_cast<float>(static_cast<std::uint32_t>(head.argument));
    case 27:
      return std::bit_cast<double>(head.argument);
    default:
      fail("a value of a kind that no network file has");
    }
  }

  /// Converts a half-precision number: RFC 8949, appendix D.
  static double from_half(std::uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    double size =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
    if (exponent == 31)
      size = fraction == 0 ? std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
    return half >> 15 == 0 ? size : -size;
  }

  /// Returns the content of a text or a byte string; with an open length it comes in parts.
  template <class Bytes>
  Bytes content(const Head& head) {
    Bytes result;
    const auto add = [&](std::uint64_t size) {
      const std::string_view part = take(size);
      result.insert(result.end(), part.begin(), part.end());
    };
    if (!head.is_open()) {
      add(head.argument);
      return result;
    }
    for (Head part = this->head(); !part.is_break(); part = this->head()) {
      if (part.type != head.type || part.is_open()) fail("no part of a string begins so");
      add(part.argument);
    }
    return result;
  }

  json binary(const Head& head, std::optional<std::uint64_t> tag) {
    json::binary_t result(content<std::vector<std::uint8_t>>(head));
    if (tag) result.set_subtype(*tag);
    return result;
  }

  std::string text(const Head& head) {
    if (head.type != Type::text) fail("a key must be text");
    auto result = content<std::string>(head);
    try {
      static_cast<void>(json(result).dump());
    } catch (const json::exception& error) {
      fail(plain(error)); // invalid UTF-8
    }
    return result;
  }

  /// Calls read(head) with the head of each entry of a list or object.
  template <class Read>
  void each(const Head& head, Read read) {
    _strict.open();
    for (std::uint64_t i = 0; head.is_open() || i < head.argument; ++i) {
      const Head entry = this->head();
      if (head.is_open() && entry.is_break()) break;
      read(entry);
    }
    _strict.close();
  }

  json list(const Head& head) {
    json result = json::array();
    each(head, [&](const Head& entry) { result.push_back(value(entry)); });
    return result;
  }

  json object(const Head& head) {
    json result = json::object();
    each(head, [&](const Head& entry) {
      const std::string key = text(entry);
      _strict.key(key);
      result[key] = value(this->head());
    });
    return result;
  }

  std::string_view _bytes;
  std::size_t _at = 0;
  Strict _strict;
};

} // namespace

json parse_json(std::string_view text) {
  Strict strict;
  try {
    return json::parse(text, [&](int, json::parse_event_t event, const json& parsed) {
      using Event = json::parse_event_t;
      if (event == Event::object_start || event == Event::array_start) strict.open();
      if (event == Event::object_end || event == Event::array_end) strict.close();
      if (event == Event::key) strict.key(parsed.get_ref<const std::string&>());
      return true;
    });
  } catch (const json::exception& error) {
    throw std::invalid_argument("not JSON: " + plain(error));
  }
}

json parse_json(std::istream& text) {
  return parse_json(std::string(std::istreambuf_iterator<char>(text), {}));
}

json parse_cbor(std::string_view bytes) { return CborReader(bytes).read(); }

} // namespace thalweg::network
