#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

/// An algorithm for scan and exscan, over the ranks in their order, which the collective gives.
/// Long data is sent in segments.
class ScanAlgorithm : public Algorithm {
public:
  [[nodiscard]] bool supports(collective::Kind kind) const final;
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const final;
  [[nodiscard]] Skeleton build(const Problem& problem, const Parameters& parameters) const final;

protected:
  /// Returns the steps between the beginnings of two segments, schedule::Pipeline::period.
  [[nodiscard]] virtual schedule::Step period(collective::Kind kind) const = 0;
};

} // namespace thalweg::algorithms
