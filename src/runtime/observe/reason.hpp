#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thalweg::runtime {

/// Why a call was executed by the MPI library's own collective; a planned call has no reason.
/// Counted in the summary, stored in events.
enum class Reason : std::uint8_t {
  off,             ///< THALWEG=off
  no_plan,         ///< neither a plan nor THALWEG_FORCE
  disagreement,    ///< ranks differ in build, settings, thread level or what they have loaded
  device,          ///< a device library is loaded: buffers may lie in a device's memory
  fault_tolerance, ///< the MPI library goes on when ranks die
  spawned,         ///< the world was spawned by another
  unknown_host,    ///< the plan's network lacks a host
  single_rank,
  single_host,
  intercommunicator,
  not_in_world,   ///< a member isn't in COMM_WORLD
  not_set_up,     ///< nothing has told all members of this communicator to set up yet
  tags_exhausted, ///< no tag is left for this communicator
  plan_native,    ///< native was planned, or forced
  empty,          ///< no data
  arguments,      ///< erroneous; the library reports that
  op,             ///< not commutative, or not for this type
  datatype,       ///< elements that overlap
  failure,        ///< the plan couldn't be expanded, or the forced algorithm can't do this
  unknown_sizes,  ///< the plan sends blocks through ranks that don't know their sizes
  not_planned,    ///< no plan is made for this form, or this graph of a neighbourhood's collective
  race,           ///< native takes its turn in a race, or has won it
};
/// Returns the summary's name: "single-host".
constexpr auto names_of(Reason /*reason*/) {
  // clang-format off
  return std::to_array<std::string_view>(
      {"off", "no-plan", "disagreement", "device", "fault-tolerance", "spawned", "unknown-host",
       "single-rank", "single-host", "intercommunicator", "not-in-world", "not-set-up",
       "tags-exhausted", "plan-native", "empty", "arguments", "op", "datatype", "failure",
       "unknown-sizes", "not-planned", "race"});
  // clang-format on
}
inline constexpr std::size_t reason_count = names_of(Reason{}).size();
static_assert(static_cast<std::size_t>(Reason::race) + 1 == reason_count);

} // namespace thalweg::runtime
