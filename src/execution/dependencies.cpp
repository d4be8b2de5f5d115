#include "execution/dependencies.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::execution {

DependencyFinder::DependencyFinder(std::span<const Transfer> transfers) : _transfers(transfers) {
  std::size_t registers = 1;
  for (const Transfer& transfer : transfers) {
    registers = std::max({registers, std::size_t{transfer.src} + 1, std::size_t{transfer.dst} + 1});
    for (const schedule::Range& range : transfer.what)
      _chunks = std::max(
          _chunks, static_cast<std::size_t>(range.first + (range.count - 1) * range.stride + 1));
  }
  _places.resize(registers * _chunks);
}

void DependencyFinder::find(Operations& operations) {
  ++_epoch;
  _readers.clear();
  _known.resize(2 * operations.size(), 0);
  const auto groups = operations.last_groups();
  const auto size = static_cast<OperationId>(operations.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const OperationId begin = groups[group].begin;
    const OperationId end = group + 1 < groups.size() ? groups[group + 1].begin : size;
    for (OperationId id = begin; id < end; ++id)
      if (operations[id].does_read()) read(id, operations);
    for (OperationId id = begin; id < end; ++id)
      if (operations[id].does_write()) write(id, operations);
  }
}

DependencyFinder::Place& DependencyFinder::at(Reg reg, ChunkId chunk) {
  Place& place = _places[reg * _chunks + index(chunk)];
  if (place.epoch != _epoch) place = {.epoch = _epoch};
  return place;
}

void DependencyFinder::read(OperationId id, Operations& operations) {
  ++_accesses;
  const Transfer& own = transfer(id, operations);
  for_each_chunk(own.what, [&](ChunkId chunk) {
    Place& place = at(own.src, chunk);
    if (place.writer != no_operation)
      add({.waiting = id, .reads = true, .other = place.writer, .after_read = false}, operations);
    _readers.push_back({id, place.readers});
    place.readers = static_cast<std::int32_t>(_readers.size()) - 1;
  });
}

void DependencyFinder::write(OperationId id, Operations& operations) {
  ++_accesses;
  const Transfer& own = transfer(id, operations);
  for_each_chunk(own.what, [&](ChunkId chunk) {
    Place& place = at(own.dst, chunk);
    if (place.writer != no_operation)
      add({.waiting = id, .reads = false, .other = place.writer, .after_read = false}, operations);
    for (std::int32_t i = place.readers; i >= 0; i = _readers[index(i)].next)
      add({.waiting = id,
           .reads = false,
           .other = _readers[index(i)].operation,
           .after_read = true},
          operations);
    place.readers = -1;
    place.writer = id;
  });
}

/// Adds the wait once for each pair, for any number of chunks in common.
void DependencyFinder::add(const Wait& wait, Operations& operations) {
  if (wait.other == wait.waiting) return; // A local transfer reads before it writes in any case.
  const auto known = 2 * index(wait.other) + (wait.after_read ? 1 : 0);
  if (std::exchange(_known[known], _accesses) != _accesses) operations.wait(wait);
}

} // namespace thalweg::execution
