#pragma once

#include "collective/collective.hpp"
#include "collective/neighborhood.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thalweg::runtime::observe {

/// A collective as it is counted and recorded: one of the kinds that are planned, or one of the
/// neighbourhoods, whose numbers follow those of the kinds.
class Counted {
public:
  static constexpr std::size_t count = collective::kind_count + collective::neighborhood_count;

  // NOLINTBEGIN(google-explicit-constructor): each of them is one
  constexpr Counted(collective::Kind kind) : _number(static_cast<std::uint8_t>(kind)) {}
  constexpr Counted(collective::Neighborhood neighborhood)
      : _number(static_cast<std::uint8_t>(collective::kind_count +
                                          static_cast<std::size_t>(neighborhood))) {}
  // NOLINTEND(google-explicit-constructor)
  /// @param number less than `count`
  static constexpr Counted of(std::size_t number) {
    return number < collective::kind_count
               ? Counted(static_cast<collective::Kind>(number))
               : Counted(static_cast<collective::Neighborhood>(number - collective::kind_count));
  }

  /// Returns the number of CallEvent::collective.
  [[nodiscard]] constexpr std::uint8_t number() const { return _number; }
  /// Returns the summary's name: "bcast", "neighbor_alltoall".
  [[nodiscard]] constexpr std::string_view name() const {
    return _number < collective::kind_count
               ? to_text(static_cast<collective::Kind>(_number))
               : names_of(collective::Neighborhood{})[_number - collective::kind_count];
  }

private:
  std::uint8_t _number;
};

} // namespace thalweg::runtime::observe
