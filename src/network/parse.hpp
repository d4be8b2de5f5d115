#pragma once

#include <istream>
#include <nlohmann/json.hpp>
#include <string_view>

/// Texts and bytes as JSON values, without what the formats allow and a network file never has:
/// duplicate keys in an object, and more than a few levels, which would exhaust the stack.
namespace thalweg::network {

/// @throws std::invalid_argument naming line and column, or the key
nlohmann::json parse_json(std::string_view text);
/// Parses all that is left of a stream.
nlohmann::json parse_json(std::istream& text);

/// Reads CBOR (RFC 8949), also with open lengths. A tag becomes the subtype of a byte string, and
/// is ignored elsewhere.
/// @throws std::invalid_argument naming the byte, or the key
nlohmann::json parse_cbor(std::string_view bytes);

} // namespace thalweg::network
