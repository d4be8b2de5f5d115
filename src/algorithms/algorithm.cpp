#include "algorithms/algorithm.hpp"

#include "algorithms/segments.hpp"

#include <algorithm>

namespace thalweg::algorithms {

schedule::Pipeline Skeleton::pipeline(Size size) const {
  // So that the last segment's steps are still representable.
  const Size most = (Size{1} << 30) / std::max<Size>(period, 1);
  const Size wanted = segment_size > 0 ? (size + segment_size - 1) / segment_size : 1;
  return {static_cast<std::int32_t>(std::clamp<Size>(wanted, 1, most)), period};
}

std::vector<Parameters> Algorithm::candidates(const Problem& /*problem*/) const { return {{}}; }

std::vector<Parameters> segmented(const Problem& problem, Size part) {
  constexpr Size kib = 1024;
  const Size size = problem.collective.size;
  std::vector<Parameters> candidates;
  const auto add = [&](Size message) {
    if (message * part < size) candidates.push_back({.segment_size = message * part});
  };
  for (const Size message : {16 * kib, 32 * kib, 8 * kib, 60 * kib})
    add(message);
  if (size <= 256 * kib) add(4 * kib);
  if (size >= 4096 * kib) add(256 * kib);
  candidates.emplace_back();
  return candidates;
}

schedule::Schedule expand(collective::Kind kind, const Skeleton& skeleton, Size size) {
  Sink sink;
  find(skeleton.algorithm).emit(kind, skeleton, collective::no_rank, sink);
  return {skeleton.chunks, skeleton.pipeline(size), std::move(sink), skeleton.weights};
}

} // namespace thalweg::algorithms
