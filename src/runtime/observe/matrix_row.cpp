#include "runtime/observe/matrix_row.hpp"

namespace thalweg::runtime::observe {

MatrixRow::MatrixRow(RecordFile& file, int world_size)
    : _file(file), _entries(std::make_unique<std::atomic<MessagesEntry*>[]>(
                       static_cast<std::size_t>(world_size) + 1)) {}

MessagesEntry& MatrixRow::add(int to) {
  const std::lock_guard lock(_mutex);
  auto& place = _entries[static_cast<std::size_t>(to)];
  if (auto* const found = place.load()) return *found;
  // In a file of zeros the counts begin with 0.
  auto* added = _file.add<MessagesEntry>();
  if (added == nullptr)
    added = &_lost;
  else
    added->to = to;
  place.store(added, std::memory_order_release);
  return *added;
}

} // namespace thalweg::runtime::observe
