#pragma once

#include "probe/evidence.hpp"

#include <map>

namespace thalweg::probe {

/// Runs more, or fewer, flows through a passage until they are just enough to fill it.
class Filling {
public:
  /// @param passage index in the evidence's passages
  Filling(Evidence& evidence, std::size_t passage);

  /// Finds its capacity, and the fewest senders that get nearly all of it. With more senders
  /// segments get lost, which makes their rate hard to tell.
  void find();

private:
  [[nodiscard]] std::span<const Arrow> first(std::size_t n) const {
    return std::span(_crowd).first(n);
  }
  /// Returns the sum of the rates of the first n flows if the passage didn't limit them.
  [[nodiscard]] Rate without(std::size_t n) const {
    return _evidence.predict_without(first(n), _index);
  }
  /// Returns their rate together, as far as time allows to measure it.
  [[nodiscard]] Rate rate(std::size_t n);
  [[nodiscard]] bool fills(std::size_t n);

  Evidence& _evidence;
  std::size_t _index;
  Passage& _passage;
  std::vector<Arrow> _crowd; ///< in the order in which flows are added
  std::map<std::size_t, Rate> _known;
};

} // namespace thalweg::probe
