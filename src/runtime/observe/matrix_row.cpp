#include "runtime/observe/matrix_row.hpp"

#include "units/whole_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace thalweg::runtime::observe {
namespace {

/// Entries by which the file grows.
constexpr std::int32_t growth = 64;

std::size_t bytes_of(std::int32_t entries) {
  return sizeof(MatrixHeader) + static_cast<std::size_t>(entries) * sizeof(MatrixEntry);
}

} // namespace

MatrixRow::~MatrixRow() {
  if (_memory != nullptr) munmap(_memory, _mapped);
  if (_file >= 0) close(_file);
}

std::string MatrixRow::open(const std::string& path, int world_rank, int world_size) {
  _path = path;
  const auto ranks = static_cast<std::size_t>(world_size) + 1;
  _file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (_file < 0) return units::write_error(path, errno);
  _mapped = bytes_of(world_size + 1);
  // Addresses for all entries; only those that the file has room for are ever touched.
  void* const memory = mmap(nullptr, _mapped, PROT_READ | PROT_WRITE, MAP_SHARED, _file, 0);
  if (memory == MAP_FAILED) return units::write_error(path, errno);
  _memory = static_cast<std::byte*>(memory);
  if (!grow()) return units::write_error(path, _error);
  MatrixHeader header;
  std::memcpy(header.magic, matrix_magic, sizeof header.magic);
  header.entry_size = sizeof(MatrixEntry);
  header.world_rank = world_rank;
  header.world_size = world_size;
  std::memcpy(_memory, &header, sizeof header);
  _entries = reinterpret_cast<MatrixEntry*>(_memory + sizeof header);
  auto slots = std::make_unique<std::atomic<std::int32_t>[]>(ranks);
  std::for_each_n(slots.get(), ranks, [](auto& slot) { slot.store(none); });
  _slots = std::move(slots);
  return {};
}

/// Makes room in the file, whose new part is zero. Returns whether that was possible.
bool MatrixRow::grow() {
  const units::SurvivesFileLimit survives;
  const auto size = static_cast<off_t>(std::min(bytes_of(_room + growth), _mapped));
  _error = posix_fallocate(_file, 0, size);
  if (_error == 0) _room += growth;
  return _error == 0;
}

std::int32_t MatrixRow::add(int to) {
  const std::lock_guard lock(_mutex);
  auto& slot = _slots[static_cast<std::size_t>(to)];
  if (const auto found = slot.load(); found != none) return found;
  std::int32_t added = lost;
  if (_used < _room || grow()) {
    added = _used++;
    // In a file of zeros the counts begin with 0.
    _entries[added].to = to;
    _entries[added].used = 1;
  }
  slot.store(added, std::memory_order_release);
  return added;
}

std::string MatrixRow::problem() const {
  return _error == 0 ? std::string() : units::write_error(_path, _error);
}

} // namespace thalweg::runtime::observe
