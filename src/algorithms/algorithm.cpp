#include "algorithms/algorithm.hpp"

#include "algorithms/segments.hpp"

#include <algorithm>

namespace thalweg::algorithms {

schedule::Pipeline Skeleton::pipeline(Size size) const {
  // Keeps the last segment's steps representable.
  const Size most = (Size{1} << 30) / std::max<Size>(period, 1);
  const Size wanted = segment_size > 0 ? (size + segment_size - 1) / segment_size : 1;
  return {static_cast<std::int32_t>(std::clamp<Size>(wanted, 1, most)), period, window};
}

std::vector<Parameters> Algorithm::candidates(const Problem& /*problem*/) const { return {{}}; }

/// Message sizes from about 4 sqrt(size) bytes up. A chain is fastest at sqrt(size o B / ranks),
/// for an overhead o per message and a bandwidth B; for o B from 0.2 to 20 KB that is within the
/// first few doublings.
std::vector<Parameters> segmented(const Problem& problem, Size part, Size blocks) {
  constexpr Size kib = 1024;
  const Size size = problem.collective.size;
  Size least = kib;
  while (4 * least * least <= 16 * size * blocks)
    least *= 2;
  std::vector<Parameters> candidates;
  for (const Size factor : {2, 4, 1, 8, 16}) {
    const Size message = least * factor;
    // Together with its envelope, the message stays below the 64 KiB from which MPI libraries use a
    // handshake.
    const Size fitting = message == 64 * kib ? 60 * kib : message;
    const Size segment = fitting * part / blocks;
    // A leaf's message has a single block.
    const bool worth = blocks == 1 || segment >= kib;
    if (segment < size && worth) candidates.push_back({.segment_size = segment});
  }
  candidates.emplace_back();
  return candidates;
}

std::vector<Parameters> first_of(std::vector<Parameters> candidates, std::size_t count) {
  if (candidates.size() > count + 1)
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(count), candidates.end() - 1);
  return candidates;
}

Skeleton make_skeleton(const Algorithm& algorithm, const Problem& problem,
                       const Parameters& parameters) {
  Skeleton skeleton = algorithm.build(problem, parameters);
  if (parameters.window > 0) skeleton.window = parameters.window;
  return skeleton;
}

schedule::Schedule expand(collective::Kind kind, const Skeleton& skeleton, Size size) {
  Sink sink;
  find(skeleton.algorithm).emit(kind, skeleton, collective::no_rank, sink);
  return {skeleton.chunks, skeleton.pipeline(size), std::move(sink), skeleton.weights};
}

} // namespace thalweg::algorithms
