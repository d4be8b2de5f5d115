#pragma once

#include "units/units.hpp"

#include <functional>

/// The search for the largest message that a library sends without waiting for its receiver.
namespace thalweg::probe {

using units::Size;

/// What a limit is looked for between, and the least that it is found to.
inline constexpr Size largest_limit = 1 << 18, finest_limit = 16;

/// Returns the largest size that is eager, to 1/64 or `finest_limit`; 0 if it is less than that.
/// @param eager whether a message of a size is
Size find_limit(const std::function<bool(Size)>& eager);

/// Returns a size that is surely not eager where `limit` is what find_limit() has found, and as
/// little larger as possible.
Size above_limit(Size limit);

} // namespace thalweg::probe
