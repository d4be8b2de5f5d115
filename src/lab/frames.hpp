#pragma once

#include "lab/host.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace thalweg::lab {

/// The largest frame that is forwarded: MTU 9000 and the Ethernet header, with room to spare.
inline constexpr std::size_t largest_frame = 9216;

/// Stores the bytes of frames in flight in fixed slots, which have numbers and are reused.
class FrameStore {
public:
  using Slot = std::array<unsigned char, tap_header + largest_frame>;

  FrameStore() { grow(); }
  std::uint32_t take();
  void give_back(std::uint32_t slot) { _idle.push_back(slot); }
  Slot& operator[](std::uint32_t slot) { return (*_blocks[slot / block])[slot % block]; }

private:
  static constexpr std::uint32_t block = 1024;
  void grow();
  std::vector<std::unique_ptr<std::array<Slot, block>>> _blocks;
  std::vector<std::uint32_t> _idle;
};

} // namespace thalweg::lab
