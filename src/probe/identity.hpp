#pragma once

#include "network/network.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thalweg::probe {

/// What distinguishes one host, and one clock, from another.
struct Identity {
  std::string name;    ///< as the host calls itself
  std::string boot;    ///< the kernel's boot id
  std::string network; ///< the network namespace
  std::int64_t clock_origin =
      0; ///< CLOCK_REALTIME - CLOCK_MONOTONIC in nanoseconds: when it booted
  std::int64_t initial_window = 0; ///< bytes that an idle TCP connection may send; 0: no limit
};

/// Returns the identity of this process.
Identity identify();

std::string to_text(const Identity& identity);
Identity identity_from_text(const std::string& text);

/// Returns the names of the hosts, by rank.
/// @param listed the user's names of the first ranks; empty if unknown
/// @param one_machine ranks on one host become hosts "name", "name#1", ...
/// @throws std::invalid_argument naming two ranks' hosts if they are one machine, or have one name
std::vector<std::string> host_names(std::span<const Identity> ranks,
                                    std::span<const std::string> listed, bool one_machine);

/// Says which host isn't the network's of its rank: "host w1 calls itself b, not a". Empty if all
/// are. Names are compared as by network::place().
/// @param names what the hosts call themselves, by rank
/// @param listed as of host_names()
std::string wrong_host(std::span<const std::string> names, std::span<const std::string> listed,
                       const network::Network& network);

/// Whether all ranks seem to read the same CLOCK_MONOTONIC: one kernel, no time namespaces in
/// between. Two kernels don't boot within the same 20 us; containers may hide their boot ids.
bool share_clock(std::span<const Identity> ranks);

/// Returns the smallest initial window of all ranks; 0 if none has one.
std::int64_t smallest_window(std::span<const Identity> ranks);

} // namespace thalweg::probe
