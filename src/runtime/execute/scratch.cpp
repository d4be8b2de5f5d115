#include "runtime/execute/scratch.hpp"

#include <algorithm>
#include <new>

namespace thalweg::runtime {
namespace {
constexpr auto alignment = std::align_val_t{64};
}

void Scratch::Free::operator()(std::byte* memory) const { ::operator delete(memory, alignment); }

Scratch::Index Scratch::acquire(std::int64_t units) {
  const std::int64_t bytes = _shape.span(units);
  const auto fits = [&](const Block& block) { return block.free && block.capacity >= bytes; };
  auto block = std::ranges::find_if(_blocks, fits);
  if (block == _blocks.end()) {
    // A free block that is too small would hardly be used again.
    block = std::ranges::find_if(_blocks, &Block::free);
    if (block == _blocks.end()) block = _blocks.emplace(_blocks.end());
    block->memory.reset();
    block->capacity = 0;
    block->memory.reset(
        static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), alignment)));
    block->capacity = bytes;
  }
  block->free = false;
  return static_cast<Index>(block - _blocks.begin());
}

void Scratch::release_all() {
  for (Block& block : _blocks)
    block.free = true;
}

std::int64_t Scratch::kept() const {
  std::int64_t bytes = 0;
  for (const Block& block : _blocks)
    bytes += block.capacity;
  return bytes;
}

void Scratch::shrink(std::int64_t bytes) {
  std::int64_t kept = 0;
  std::erase_if(_blocks, [&](const Block& block) {
    const bool keep = kept + block.capacity <= bytes;
    if (keep) kept += block.capacity;
    return !keep;
  });
}

} // namespace thalweg::runtime
