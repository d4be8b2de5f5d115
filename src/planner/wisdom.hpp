#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// The binary form of a wisdom file (docs/wisdom-file.md). python/thalweg/wisdom.py decides where
/// it is kept and what the keys mean.
namespace thalweg::planner {

/// An earlier result: a plan or a table in its binary form, and the key it was planned for.
struct Record {
  std::string key;
  std::vector<std::byte> value;
  bool operator==(const Record&) const = default;
};

std::vector<std::byte> to_bytes(const std::vector<Record>& wisdom);
/// @throws std::invalid_argument if it isn't a wisdom file of this version, or is damaged
std::vector<Record> wisdom_from_bytes(std::span<const std::byte> bytes);

} // namespace thalweg::planner
