#pragma once

#include "algorithms/algorithm.hpp"

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

  [[nodiscard]] const Directive& operator[](collective::Kind kind) const {
    return directives[kind];
  }
  /// Whether an algorithm is forced for any collective.
  [[nodiscard]] bool names_algorithms() const;
};

/// Returns the text with the content of each tree file in place of "file=<path>". Ranks share this
/// text, so that only one of them reads the files. A collective whose file is wrong is native, and
/// `problems` gets a line that names the file, and the line and the rank at fault.
std::string with_files(std::string_view text, std::vector<std::string>& problems);

/// Parses "bcast=pipelined-chain:segment_size=32KB,degree=2;allreduce=native"; "native" alone makes
/// everything native, "" forces nothing. docs/runtime.md lists the parameters; a declared tree is
/// given by its content.
/// @throws std::invalid_argument naming the part that is wrong
Force parse_force(std::string_view text);

} // namespace thalweg::runtime
