#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg {

/// The hash FNV-1a with 64 bits. Hashes are in files and are compared between hosts, so the same
/// values keep the same hash.
/// Source: Fowler, Noll, Vo, Eastlake: The FNV Non-Cryptographic Hash Algorithm
/// (draft-eastlake-fnv).
class Fnv1a {
public:
  constexpr Fnv1a() = default;
  /// Goes on from another's value().
  explicit constexpr Fnv1a(std::uint64_t value) : _value(value) {}

  constexpr void add_bytes(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes)
      add_number(std::to_integer<std::uint64_t>(byte));
  }
  /// Adds a number in a single step: from 256 on the hash isn't that of the number's bytes.
  constexpr void add_number(std::uint64_t number) { _value = (_value ^ number) * 0x100000001b3U; }
  [[nodiscard]] constexpr std::uint64_t value() const { return _value; }

private:
  std::uint64_t _value = 0xcbf29ce484222325U;
};

} // namespace thalweg
