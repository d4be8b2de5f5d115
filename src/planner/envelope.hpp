#pragma once

#include "planner/bytes.hpp"

#include <cstdint>
#include <string_view>

namespace thalweg::planner {

/// The beginning of a binary file: 8 bytes of magic, u32 version, u32 zero, u64 size of the
/// content, u64 FNV-1a of the content.
struct Envelope {
  std::string_view magic; ///< 8 characters
  std::uint32_t version;
  std::string_view what; ///< for errors: "plan file"
};

std::vector<std::byte> wrap(const Envelope& envelope, const std::vector<std::byte>& content);
/// Returns the content.
/// @throws std::invalid_argument for another magic or version, or damage
Reader unwrap(const Envelope& envelope, std::span<const std::byte> bytes);

} // namespace thalweg::planner
