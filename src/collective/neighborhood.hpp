#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thalweg::collective {

/// The collectives of neighbourhoods: each rank exchanges data with the neighbours that its
/// communicator's graph or grid declares. They aren't of a Kind, since what is true afterwards
/// depends on that graph; planner/neighborhood.hpp paces their messages.
enum class Neighborhood : std::uint8_t {
  allgather, ///< the same block to all neighbours
  alltoall,  ///< a block of its own to each neighbour
};

constexpr auto names_of(Neighborhood /*neighborhood*/) {
  return std::to_array<std::string_view>({"neighbor_allgather", "neighbor_alltoall"});
}

inline constexpr std::size_t neighborhood_count = names_of(Neighborhood{}).size();
static_assert(static_cast<std::size_t>(Neighborhood::alltoall) + 1 == neighborhood_count);

} // namespace thalweg::collective
