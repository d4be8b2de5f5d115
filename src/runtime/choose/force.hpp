#pragma once

#include "algorithms/algorithm.hpp"
#include "collective/neighborhood.hpp"
#include "planner/neighborhood.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::runtime {

/// What overrides the plan, per collective: the value of THALWEG_FORCE.
struct Force {
  enum class What : std::uint8_t { nothing, native, algorithm };
  struct Directive {
    What what = What::nothing;
    const algorithms::Algorithm* algorithm = nullptr;
    algorithms::Parameters parameters;
  };
  collective::ByKind<Directive> directives;
  /// By collective::Neighborhood; none: as planned.
  std::array<std::optional<planner::Pace>, collective::neighborhood_count> neighborhoods;

  [[nodiscard]] const Directive& operator[](collective::Kind kind) const {
    return directives[kind];
  }
  [[nodiscard]] const std::optional<planner::Pace>&
  operator[](collective::Neighborhood neighborhood) const {
    return neighborhoods[static_cast<std::size_t>(neighborhood)];
  }
  /// Whether anything but native is forced for any collective.
  [[nodiscard]] bool names_algorithms() const;
};

/// Returns the text with the content of each tree file in place of "file=<path>". Ranks share this
/// text, so that only one of them reads the files. A collective whose file is wrong is native, and
/// `problems` gets a line that names the file, and the line and the rank at fault.
std::string with_files(std::string_view text, std::vector<std::string>& problems);

/// Parses "bcast=pipelined-chain:segment_size=32KB,degree=2;allreduce=native"; "native" alone makes
/// everything native, "" forces nothing. docs/runtime.md lists the parameters; a declared tree is
/// given by its content. Collectives of neighbourhoods have a pacing and its window:
/// "neighbor_alltoall=by-rank:window=2".
/// @throws std::invalid_argument naming the part that is wrong
Force parse_force(std::string_view text);

} // namespace thalweg::runtime
