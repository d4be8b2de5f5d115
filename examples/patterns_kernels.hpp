/// All kernels, by name.
#pragma once

#include "patterns_grids.hpp"
#include "patterns_sweeps.hpp"
#include "patterns_transposes.hpp"

#include <array>

namespace patterns {

struct Named {
  const char* name;
  /// Makes the kernel of a size, with the communicators that it needs: programs make them once, and
  /// all ranks agree several times on each. Collective.
  Kernel (*make)(int size);
  int usual, largest; ///< sizes
};
constexpr std::array<Named, 7> kernels{{{"cg", cg, 360, 100'000},
                                        {"mg", mg, 8, 512},
                                        {"lu", lu, 24, 10'000},
                                        {"bt", bt, 12, 1000},
                                        {"ft", ft, 64, 8192},
                                        {"ep", ep, 20'000, 1'000'000'000},
                                        {"is", is, 2000, 100'000'000}}};

} // namespace patterns
