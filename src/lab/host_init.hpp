#pragma once

#include "lab/descriptor.hpp"
#include "lab/spawn.hpp"

#include <array>
#include <vector>

namespace thalweg::lab {

/// Receives what send_request() sent. @throws std::runtime_error if it is cut short
SpawnRequest receive_request(int socket, std::array<Descriptor, 3>& streams);

/// The first process of a host: reaps orphans and starts commands (spawn.hpp) on the given cores.
/// Returns only by an exception.
[[noreturn]] void serve_commands(Descriptor listener, const std::vector<int>& cores);

} // namespace thalweg::lab
