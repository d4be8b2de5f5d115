#pragma once

#include "units/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::bench {

/// What to run it as: "native", "thalweg" (the plan table) or an algorithm as in THALWEG_FORCE
/// ("pipelined-chain:segment_size=32KB"); `only` restricts it to one collective.
struct Variant {
  std::string text; ///< as given, without the collective
  std::string only; ///< empty: all collectives

  /// What thalweg_force() takes for it.
  [[nodiscard]] std::string force(const std::string& collective) const;
};

/// One thing to measure.
struct Cell {
  std::string collective;
  units::Size size = 0; ///< bytes of the vector; for gather and allgather of one rank's block
  int root = 0;
  Variant variant;
};

struct Options {
  std::vector<std::string> collectives;
  std::vector<units::Size> sizes;
  std::vector<int> roots;
  std::vector<Variant> variants;
  int repetitions = 7;
  std::uint64_t seed = 1;
  double dilation = 1;
  std::string output; ///< empty: standard output

  /// All combinations that make sense: a collective without a root is measured once, not per root.
  [[nodiscard]] std::vector<Cell> cells() const;
};

inline constexpr const char* usage =
    "usage: thalweg-bench --collective bcast --size 8MB [--root 0] [--variant native]\n"
    "         [--repetitions 7] [--seed 1] [--dilation 1] [--output FILE]\n"
    "--collective, --size, --root and --variant may be repeated; all combinations are measured,\n"
    "interleaved in an order drawn from the seed. A variant is native, thalweg, an algorithm\n"
    "(pipelined-chain:segment_size=32KB), or bcast=ALGORITHM for one collective only.\n"
    "--dilation defaults to THALWEG_LAB_DILATION.\n";

/// @throws std::invalid_argument naming the argument at fault
Options parse(int argc, char** argv, int ranks);

} // namespace thalweg::bench
