#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// The binary form of a wisdom file (docs/wisdom-file.md). Who keeps it where, and what the keys
/// say, is python/thalweg/wisdom.py's.
namespace thalweg::planner {

/// Something planned before: a plan or a table in its binary form, by what it was planned for.
struct Record {
  std::string key;
  std::vector<std::byte> value;
  bool operator==(const Record&) const = default;
};

std::vector<std::byte> to_bytes(const std::vector<Record>& wisdom);
/// @throws std::invalid_argument if it isn't a wisdom file of this version, or is damaged
std::vector<Record> wisdom_from_bytes(std::span<const std::byte> bytes);

} // namespace thalweg::planner
