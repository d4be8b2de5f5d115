#pragma once

#include "units/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::bench {

/// One thing to measure.
struct Cell {
  std::string collective;
  units::Size size = 0; ///< as collective::Collective's: bytes of the vector, or of one block
  int root = 0;
  std::string
      variant; ///< "native", "thalweg" (the plan table), or an algorithm as in THALWEG_FORCE

  /// What thalweg_force() takes for it.
  [[nodiscard]] std::string force() const;
};

struct ProgramOptions {
  std::vector<Cell> cells;
  int warm_ups = 1; ///< repetitions before those that count
  int repetitions = 7;
  int calls = 1; ///< in a row, that are one repetition
  std::uint64_t seed = 1;
  double dilation = 1;
  std::string output; ///< empty: standard output
};

inline constexpr const char* usage =
    "usage: thalweg-bench --cell COLLECTIVE,SIZE,ROOT,VARIANT [--cell ...] [--warm-ups 1]\n"
    "         [--repetitions 7] [--calls 1] [--seed 1] [--dilation 1] [--output FILE]\n"
    "such as --cell bcast,8MB,0,native --cell bcast,8MB,0,pipelined-chain:segment_size=32KB\n"
    "The cells are measured interleaved, in an order drawn from the seed. A variant is native, "
    "thalweg\n"
    "(what its plan says) or an algorithm. A repetition is so many calls in a row; times are of "
    "one. --dilation defaults to THALWEG_LAB_DILATION.\n";

/// @throws std::invalid_argument naming the argument at fault
ProgramOptions parse(int argc, char** argv, int ranks);

} // namespace thalweg::bench
