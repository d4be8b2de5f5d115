#include "lab/frames.hpp"

namespace thalweg::lab {

std::uint32_t FrameStore::take() {
  if (_idle.empty()) grow();
  const auto slot = _idle.back();
  _idle.pop_back();
  return slot;
}

void FrameStore::grow() {
  const auto first = static_cast<std::uint32_t>(_blocks.size()) * block;
  _blocks.push_back(std::make_unique<std::array<Slot, block>>());
  for (std::uint32_t slot = block; slot-- > 0;)
    _idle.push_back(first + slot);
}

} // namespace thalweg::lab
