#include "units/hash.hpp"

#include <doctest/doctest.h>
#include <string_view>
#include <utility>
#include <vector>

namespace thalweg {
namespace {

constexpr std::uint64_t of_nothing = 0xcbf29ce484222325U, prime = 0x100000001b3U;

std::uint64_t hash_of_text(std::string_view text) {
  Fnv1a hash;
  hash.add_bytes(std::as_bytes(std::span(text)));
  return hash.value();
}

} // namespace

TEST_CASE("bytes have the hashes that the authors of FNV-1a publish") {
  const std::vector<std::pair<const char*, std::uint64_t>> published{
      {"", of_nothing}, {"a", 0xaf63dc4c8601ec8cU}, {"foobar", 0x85944171f73967e8U}};
  for (const auto& [text, hash] : published) {
    CAPTURE(text);
    CHECK(hash_of_text(text) == hash);
  }
}

TEST_CASE("a number is hashed in a single step") {
  Fnv1a hash;
  hash.add_number(0x0102030405060708U);
  CHECK(hash.value() == (of_nothing ^ 0x0102030405060708U) * prime);
  Fnv1a of_byte;
  of_byte.add_number(std::uint64_t{'a'});
  CHECK(of_byte.value() == hash_of_text("a"));
}

TEST_CASE("a hash goes on from another's value") {
  Fnv1a hash(hash_of_text("foo"));
  hash.add_bytes(std::as_bytes(std::span(std::string_view("bar"))));
  CHECK(hash.value() == hash_of_text("foobar"));
}

} // namespace thalweg
