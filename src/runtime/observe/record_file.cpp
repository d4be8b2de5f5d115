#include "runtime/observe/record_file.hpp"

#include <atomic>
#include <cstring>

namespace thalweg::runtime::observe {
namespace {

constexpr std::size_t growth = std::size_t{1} << 14, most = std::size_t{1} << 28;

} // namespace

std::string RecordFile::open(const std::string& path, const Identity& identity) {
  if (std::string problem = _file.open(path, most); !problem.empty()) return problem;
  if (!_file.grow(growth)) return _file.problem();
  RecordHeader header;
  std::memcpy(header.magic, record_magic, sizeof header.magic);
  header.header_size = sizeof header;
  header.world_rank = identity.world_rank;
  header.world_size = identity.world_size;
  header.run = identity.run;
  header.size = sizeof header;
  std::memcpy(_file.data(), &header, sizeof header);
  return {};
}

std::byte* RecordFile::add(EntryKind kind, std::uint32_t size) {
  const std::lock_guard lock(_mutex);
  std::uint64_t& used = header().size;
  if (used + size > _file.size() && !_file.grow(_file.size() + growth)) return nullptr;
  std::byte* const entry = _file.data() + used;
  const EntryHead head{kind, size};
  std::memcpy(entry, &head, sizeof head);
  // A reader of a killed process's file finds whole entries only.
  std::atomic_ref(used).store(used + size, std::memory_order_release);
  return entry;
}

std::span<const std::byte> RecordFile::content() const {
  return {_file.data(), is_open() ? static_cast<std::size_t>(header().size) : 0};
}

} // namespace thalweg::runtime::observe
