#pragma once

#include "collective/collective.hpp"

#include <algorithm>
#include <cstdint>

namespace thalweg::runtime {

/// Which call of a communicator a rank knows that all ranks have entered: one that no rank leaves
/// before that; or a gather or reduction, as soon as it has left a later broadcast or scatter of
/// the same root, since the root had all ranks' data before it entered that. All ranks know the
/// same after the same call.
class Arrivals {
public:
  /// Counts a call that this rank has left.
  /// @param call its number, ascending; calls may be left out
  /// @param waits whether no rank leaves it before all have entered it
  /// @param has_data whether each rank sends or receives data in it; the same on all ranks
  void count(std::uint64_t call, collective::Kind kind, collective::Rank root, bool waits,
             bool has_data) {
    if (waits) {
      _entered = call;
    } else if (collective::is_rooted(kind) && has_data) {
      if (!collective::begins_at_root(kind)) {
        _root = root;
        _gathered = call;
      } else if (root == _root) {
        _entered = std::max(_entered, _gathered);
      }
    }
  }
  /// Returns how many calls before this one the latest is that all ranks are known to have entered.
  [[nodiscard]] std::uint64_t calls_ago(std::uint64_t call) const { return call - _entered; }

private:
  std::uint64_t _entered = 0;  ///< the latest; 0: none
  std::uint64_t _gathered = 0; ///< the latest that its root knows all to have entered
  collective::Rank _root = 0;
};

} // namespace thalweg::runtime
