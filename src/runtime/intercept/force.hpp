#pragma once

#include "algorithms/algorithm.hpp"

#include <array>
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
  std::array<Choice, 11> choices{}; ///< by collective::Kind

  [[nodiscard]] const Choice& operator[](collective::Kind kind) const {
    return choices[static_cast<std::size_t>(kind)];
  }
};

/// Parses "bcast=pipelined-chain:segment_size=32KB,degree=2;allreduce=native"; "native" alone is
/// all native, "" nothing forced. Parameters: segment_size, degree, senders, order (closeness or
/// rank).
/// @throws std::invalid_argument naming the part that is wrong
Force parse_force(std::string_view text);

} // namespace thalweg::runtime
