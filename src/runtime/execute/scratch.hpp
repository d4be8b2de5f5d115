#pragma once

#include "runtime/execute/transport.hpp"

#include <memory>
#include <vector>

namespace thalweg::runtime {

/// Memory for units outside the program's buffers, kept for reuse. Not thread-safe.
class Scratch {
public:
  using Index = std::int32_t;
  static constexpr Index none = -1;

  /// Sets the shape of units acquired from now on. Requires that nothing is acquired.
  void set_shape(const UnitShape& shape) { _shape = shape; }
  /// Returns a block for `units` units. O(blocks); allocates only if no free block is large enough.
  Index acquire(std::int64_t units);
  void release(Index index) { _blocks[static_cast<std::size_t>(index)].free = true; }
  void release_all();
  /// Returns the address of unit 0.
  [[nodiscard]] std::byte* address(Index index) {
    return _blocks[static_cast<std::size_t>(index)].memory.get() - _shape.true_lower_bound;
  }
  /// Returns the bytes of all blocks. O(blocks).
  [[nodiscard]] std::int64_t kept() const;
  /// Frees blocks until at most `bytes` are kept. Requires that nothing is acquired.
  void shrink(std::int64_t bytes);

private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Block {
    std::unique_ptr<std::byte, Free> memory;
    std::int64_t capacity = 0;
    bool free = true;
  };
  UnitShape _shape;
  std::vector<Block> _blocks;
};

} // namespace thalweg::runtime
