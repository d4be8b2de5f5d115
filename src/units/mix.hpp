#pragma once

#include <cstdint>

namespace thalweg {

/// mix(seed), mix(seed + mix_step), mix(seed + 2 * mix_step), ... is splitmix64's random sequence.
inline constexpr std::uint64_t mix_step = 0x9e3779b97f4a7c15U;

/// A mixing function for hashes: each bit of the value changes half of the result's bits.
/// Source: Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (splitmix64).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) {
  value += mix_step;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

} // namespace thalweg
