#pragma once

#include "network/network.hpp"

#include <filesystem>
#include <string>

/// Network files: JSON, schema version 1 (docs/network-file.md). Apart from network.hpp, since the
/// preloaded runtime contains no JSON.
namespace thalweg::network {

inline constexpr int schema_version = 1;

/// @throws std::invalid_argument naming the file, the place in it and what to do
Network read(const std::filesystem::path& path);
/// @param where names the text in errors
Network from_json(const std::string& text, const std::string& where);
/// Writes to a temporary file beside `path` and renames it.
void write(const Network& network, const std::filesystem::path& path);
std::string to_json(const Network& network);

} // namespace thalweg::network
