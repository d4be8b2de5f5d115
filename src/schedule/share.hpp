#pragma once

#include <cstdint>

namespace thalweg::schedule {

/// Returns ⌊total · part / whole⌋ without overflow; 0 ≤ part ≤ whole, which is above 0.
[[nodiscard]] std::int64_t share(std::int64_t total, std::int64_t part, std::int64_t whole);

} // namespace thalweg::schedule
