#include "network/parse.hpp"
#include "unit/error_of.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <string>

namespace thalweg::network::test {
namespace {

using thalweg::test::error_of;

using nlohmann::json;

std::string error_of_cbor(const std::string& bytes) {
  return error_of([&] { parse_cbor(bytes); });
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i)
    result += text;
  return result;
}

/// Every kind of value, of every length of its head, up to so many levels.
json random_value(std::mt19937_64& random, int levels) {
  const auto below = [&](std::uint64_t end) { return random() % end; };
  const auto size = [&] { return below(10) == 0 ? below(70'000) : below(30); };
  switch (below(levels > 0 ? 10 : 8)) {
  case 0:
    return random() >> below(64);
  case 1:
    return -1 - static_cast<std::int64_t>(random() >> (1 + below(63)));
  case 2:
    return std::ldexp(static_cast<double>(random()), static_cast<int>(below(200)) - 100);
  case 3:
    return static_cast<float>(below(1000)) / 8;
  case 4:
    return std::string(size(), static_cast<char>('a' + below(26)));
  case 5: {
    json::binary_t bytes(std::vector<std::uint8_t>(size(), 7));
    if (below(2) == 0) bytes.set_subtype(random() >> below(64));
    return bytes;
  }
  case 6:
    return below(2) == 0;
  case 7:
    return nullptr;
  default:
    json result = below(2) == 0 ? json::array() : json::object();
    for (auto left = below(30); left > 0; --left) {
      json value = random_value(random, levels - 1);
      if (result.is_array())
        result.push_back(std::move(value));
      else
        result[std::to_string(random())] = std::move(value);
    }
    return result;
  }
}

} // namespace

TEST_CASE("CBOR is read as the library reads it") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const json value = random_value(random, 3);
    std::string bytes;
    json::to_cbor(value, bytes);
    REQUIRE(parse_cbor(bytes) == value);
  }
}

TEST_CASE("damaged CBOR is refused, or read as the library reads it") {
  const json whole = {{"list", {1, -70'000, 1.5, nullptr, true}}, {"text", "abc"}};
  std::string bytes;
  json::to_cbor(whole, bytes);
  std::mt19937_64 random(1);
  int both = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 2; ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    json expected, read;
    try {
      expected = json::from_cbor(damaged, true, true, json::cbor_tag_handler_t::store);
      read = parse_cbor(damaged);
    } catch (const std::exception&) { // one of them refuses it
      continue;
    }
    REQUIRE(read.dump() == expected.dump()); // NaN is not equal to itself
    ++both;
  }
  CHECK(both > 100);
}

TEST_CASE("lengths may be left open") {
  CHECK(parse_cbor("\x9f\x01\x9f\xff\x02\xff") == json::parse("[1, [], 2]"));
  CHECK(parse_cbor("\xbf\x61"
                   "a\x7f\x61"
                   "b\x61"
                   "c\xff\xff") == json::parse(R"({"a": "bc"})"));
  CHECK(parse_cbor("\x5f\x42\x01\x02\x41\x03\xff") == json::binary({1, 2, 3}));
  CHECK(error_of_cbor("\x9f\x01") == "not CBOR: parse error at byte 2: the end is missing");
  CHECK(error_of_cbor("\x7f\x01\xff") ==
        "not CBOR: parse error at byte 2: no part of a string begins so");
  CHECK(error_of_cbor("\x81\xff").find("at byte 2") != std::string::npos);
}

TEST_CASE("halves, and tags on what needs none") {
  CHECK(parse_cbor("\xf9\x3e\x01") == 1.5009765625);
  CHECK(parse_cbor(std::string("\xf9\x80\x01", 3)) == -std::ldexp(1, -24));
  CHECK(parse_cbor(std::string("\xf9\xfc\x00", 3)) == -HUGE_VAL);
  CHECK(std::isnan(parse_cbor("\xf9\x7e\x01").get<double>()));
  CHECK(parse_cbor("\xd9\xd9\xf7\xc0\x61"
                   "a") == "a");
}

TEST_CASE("what no network file has is refused") {
  CHECK(error_of_cbor("") == "not CBOR: parse error at byte 0: the end is missing");
  CHECK(error_of_cbor("\x01\x01") == "not CBOR: parse error at byte 1: something follows the end");
  CHECK(error_of_cbor("\x1c") == "not CBOR: parse error at byte 1: no item begins with this byte");
  CHECK(error_of_cbor("\xa1\x01\x01") == "not CBOR: parse error at byte 2: a key must be text");
  CHECK(error_of_cbor("\x61\xff") ==
        "not CBOR: parse error at byte 2: invalid UTF-8 byte at index 0: 0xFF");
  CHECK(error_of_cbor("\x3b" + repeated("\xff", 8)).ends_with("too far below zero"));
  CHECK(error_of_cbor("\x5b" + repeated("\xff", 8)).ends_with("the end is missing"));
}

TEST_CASE("a key that stands twice is named") {
  const std::string message = "the key \"a\" stands twice in one object: remove one of them";
  const std::string pair = "\x61"
                           "a\x01";
  CHECK(error_of_cbor("\xa2" + pair + pair) == message);
  CHECK(error_of_cbor("\x81\xbf" + pair + pair + "\xff") == message);
  CHECK(error_of([] { parse_json(R"([{"b": {"a": 1}, "a": [{"a": 1}], "a": 2}])"); }) == message);
  CHECK(parse_json(R"([{"b": {"a": 1}, "a": [{"a": 1}]}])").size() == 1);
}

TEST_CASE("no depth takes the stack") {
  const std::string message = "lists and objects stand in each other too deeply";
  constexpr int deep = 1'000'000;
  for (const char* begin : {"\x81", "\x9f", "\xa1\x61x", "\xbf\x61x"})
    CHECK(error_of_cbor(repeated(begin, deep)) == message);
  CHECK(error_of_cbor(repeated("\xc6", deep)).ends_with("the end is missing"));
  CHECK(error_of_cbor(repeated("\x7f", deep)).ends_with("no part of a string begins so"));
  CHECK(error_of_cbor(repeated("\x5f\x40", deep)).ends_with("no part of a string begins so"));
  CHECK(error_of([] { parse_json(repeated("[", deep)); }) == message);
  CHECK(error_of([] { parse_json(repeated("{\"x\":", deep)); }) == message);
  CHECK(parse_json(repeated("[", 16) + repeated("]", 16)) ==
        parse_cbor(repeated("\x81", 15) + "\x80"));
  CHECK(error_of_cbor(repeated("\x81", 16) + "\x80") == message);
}

} // namespace thalweg::network::test
