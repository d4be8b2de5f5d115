#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thalweg::probe {

/// What tells one host, and one clock, from another.
struct Identity {
  std::string name;    ///< as the host calls itself
  std::string boot;    ///< the kernel's boot id
  std::string network; ///< the network namespace
  std::int64_t clock_origin =
      0; ///< CLOCK_REALTIME - CLOCK_MONOTONIC in nanoseconds: when it booted
  std::int64_t initial_window = 0; ///< bytes that an idle TCP connection may send; 0: no limit
};

/// Of this process.
Identity identify();

std::string to_text(const Identity& identity);
Identity identity_from_text(const std::string& text);

/// The names of the hosts, by rank.
/// @param listed what the user calls them, by rank; empty if not known
/// @param one_machine ranks on one host become hosts "name", "name#1", ...
/// @throws std::invalid_argument naming two ranks' hosts if they are one machine, or have one name
std::vector<std::string> host_names(std::span<const Identity> ranks,
                                    std::span<const std::string> listed, bool one_machine);

/// Whether all ranks seem to read the same CLOCK_MONOTONIC: one kernel, no time namespaces between
/// them. Two kernels don't boot within the same 20 us; their boot ids may be hidden from
/// containers.
bool share_clock(std::span<const Identity> ranks);

/// The smallest initial window that any of them has; 0 if none has one.
std::int64_t smallest_window(std::span<const Identity> ranks);

} // namespace thalweg::probe
