#pragma once

#include "network/network.hpp"

#include <filesystem>
#include <string>
#include <tuple>

/// Reads and writes network files: JSON or, for thousands of hosts, CBOR; schema versions 1 and 2
/// (docs/network-file.md). Separate from network.hpp, since the preloaded runtime contains neither.
namespace thalweg::network {

/// The latest version; 2 is written if values are kept by blocks, else 1.
inline constexpr int schema_version = 2;
/// RFC 8746's tags for arrays of little-endian numbers, the form of matrices in CBOR.
inline constexpr int tag_of_doubles = 86, tag_of_floats = 85;

/// The parts of a network that a file may lack, in the order in which they are written.
inline constexpr std::tuple optional_parts{
    units::Field("trunks", &Network::trunks),
    units::Field("sites", &Network::sites),
    units::Field("groups", &Network::groups),
    units::Field("initial_window", &Network::initial_window),
    units::Field("message_costs", &Network::message_costs),
    units::Field("native_times", &Network::native_times),
};

/// Reads CBOR if the file's name ends with ".cbor", else JSON.
/// @throws std::invalid_argument naming the file, the place in it and the remedy
Network read(const std::filesystem::path& path);
/// @param where names the text in errors
Network from_json(const std::string& text, const std::string& where);
Network from_cbor(const std::string& bytes, const std::string& where);
/// Writes CBOR if the path ends with ".cbor", else JSON. Writes to a temporary file beside `path`
/// and renames it.
void write(const Network& network, const std::filesystem::path& path);
std::string to_json(const Network& network);
std::string to_cbor(const Network& network);

} // namespace thalweg::network
