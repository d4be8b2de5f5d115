#pragma once

#include "algorithms/algorithm.hpp"

#include <string>
#include <string_view>

namespace thalweg::runtime {

/// Choices that override the plan, per collective: what THALWEG_FORCE says.
struct Force {
  enum class What : std::uint8_t { nothing, native, algorithm };
  struct Choice {
    What what = What::nothing;
    const algorithms::Algorithm* algorithm = nullptr;
    algorithms::Parameters parameters;
  };
  collective::ByKind<Choice> choices;

  [[nodiscard]] const Choice& operator[](collective::Kind kind) const { return choices[kind]; }
};

/// The text with the content of each tree file in place of "file=<path>": what ranks share, so that
/// one of them reads it for all.
/// @throws std::invalid_argument naming the file, and the line and the rank at fault
std::string with_files(std::string_view text);

/// Parses "bcast=pipelined-chain:segment_size=32KB,degree=2;allreduce=native"; "native" alone is
/// all native, "" nothing forced. Parameters: docs/runtime.md; of a tree by hand its content.
/// @throws std::invalid_argument naming the part that is wrong
Force parse_force(std::string_view text);

/// @throws std::invalid_argument if a tree by hand isn't for so many ranks
void check_trees(const Force& force, int ranks);

} // namespace thalweg::runtime
