#include "algorithms/algorithm.hpp"

#include "algorithms/segments.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::algorithms {
namespace {

constexpr Size kib = 1024;
/// The most ranks on as many hosts or more.
constexpr Rank most_lone_ranks = 131072;

/// Returns the largest message without a handshake, with room for its envelope: the largest
/// multiple, below the limit, of an eighth of the power of two below it. 60 KiB for 64 KiB.
Size largest_eager(const network::MessageCost& cost) {
  const auto below = static_cast<std::uint64_t>(std::max<Size>(cost.eager_limit - 1, 8));
  const std::uint64_t step = std::bit_floor(below) / 8;
  return static_cast<Size>(below / step * step);
}

void check_placement(const Network& network, const Placement& placement) {
  const Rank most = std::max(most_ranks, std::min<Rank>(network.size(), most_lone_ranks));
  if (placement.empty() || std::cmp_greater(placement.size(), most))
    throw std::invalid_argument("there are " + std::to_string(placement.size()) +
                                " ranks: plans are for 1 to " + std::to_string(most));
  for (std::size_t rank = 0; rank < placement.size(); ++rank)
    if (placement[rank] < 0 || placement[rank] >= network.size())
      throw std::invalid_argument("rank " + std::to_string(rank) + " is placed on host number " +
                                  std::to_string(placement[rank]) + ", but the network has " +
                                  std::to_string(network.size()) + " hosts");
}

} // namespace

Problem make_problem(Collective collective, const Network& network, Placement placement,
                     const std::string& library) {
  return {std::move(collective), network, std::move(placement),
          network::message_cost(network, library)};
}

void check(const Problem& problem) {
  const Placement& placement = problem.placement;
  if (std::cmp_not_equal(problem.collective.ranks, placement.size()))
    throw std::invalid_argument("the placement has " + std::to_string(placement.size()) +
                                " ranks, the " + std::string(to_text(problem.collective.kind)) +
                                " has " + std::to_string(problem.collective.ranks) +
                                ": they must be equal");
  check_placement(problem.network, placement);
  const std::vector<units::Time>& entries = problem.entries;
  if (!entries.empty() && entries.size() != placement.size())
    throw std::invalid_argument("there are entry times for " + std::to_string(entries.size()) +
                                " ranks, the placement is for " + std::to_string(placement.size()));
  for (const units::Time entry : entries)
    if (!(entry >= units::Time(0) && entry < units::Time::infinity()))
      throw std::invalid_argument("a rank enters after " + std::to_string(entry.value()) +
                                  " seconds: entry times are finite and not below 0");
}

void validate(const Problem& problem) {
  collective::validate(problem.collective);
  network::validate(problem.network);
  check(problem);
}

void validate(const Network& network, const Placement& placement) {
  network::validate(network);
  check_placement(network, placement);
}

std::vector<Parameters> Algorithm::candidates(const Problem& /*problem*/) const { return {{}}; }

void Algorithm::check(const Skeleton& skeleton) const {
  check_lists(skeleton, {"order"});
  check_order(skeleton);
}

void check(const Skeleton& skeleton) {
  const std::string_view wrong = units::wrong_field(skeleton);
  if (!wrong.empty())
    throw std::invalid_argument("a skeleton is damaged: " + std::string(wrong) +
                                " is out of its range");
  if (skeleton.root >= skeleton.ranks)
    throw std::invalid_argument("a skeleton is damaged: its root isn't one of its ranks");
  find(skeleton.algorithm).check(skeleton);
}

void check_fit(const Skeleton& skeleton, const Collective& collective) {
  const std::string what = "a " + std::string(to_text(collective.kind)) + " of " +
                           std::to_string(collective.ranks) + " ranks";
  const auto fail = [&](const std::string& why) {
    throw std::invalid_argument("a skeleton of " + skeleton.algorithm + " isn't one for " + what +
                                ": " + why);
  };
  if (skeleton.ranks != collective.ranks)
    fail("it is for " + std::to_string(skeleton.ranks) + " ranks");
  if (is_rooted(collective.kind) && skeleton.root != collective.root)
    fail("its root is " + std::to_string(skeleton.root) + ", not " +
         std::to_string(collective.root));
  if (!find(skeleton.algorithm).takes(collective) || skeleton.chunks % collective.blocks() != 0)
    fail("build one for that collective");
}

Sink emit(collective::Kind kind, const Skeleton& skeleton, Rank rank) {
  Sink sink;
  find(skeleton.algorithm).emit(kind, skeleton, rank, sink);
  sink.check(skeleton.ranks, skeleton.chunks);
  return sink;
}

bool sends_directly(const Collective& collective, const Skeleton& skeleton) {
  const schedule::ChunkId parts = skeleton.chunks / collective.blocks();
  const auto is_direct = [&](const schedule::Transfer& transfer, schedule::ChunkId chunk) {
    const schedule::ChunkId block = chunk / parts;
    return collective.before(transfer.from, block) && collective.after(transfer.to, block);
  };
  const auto all_direct = [&](const schedule::Transfer& transfer) {
    return std::ranges::all_of(transfer.what, [&](const schedule::Range& range) {
      for (schedule::ChunkId i = 0; i < range.count; ++i)
        if (!is_direct(transfer, range.first + i * range.stride)) return false;
      return true;
    });
  };
  const auto is_direct_of = [&](Rank rank) {
    return std::ranges::all_of(emit(collective.kind, skeleton, rank).transfers(), all_direct);
  };
  // A tree is refuted by its root's messages. An alltoall's are too many to have at once.
  if (is_rooted(collective.kind))
    return is_direct_of(collective.root) && is_direct_of(collective::no_rank);
  for (Rank rank = 0; rank < collective.ranks; ++rank)
    if (!is_direct_of(rank)) return false;
  return true;
}

/// Message sizes from about 4 sqrt(size) bytes up. A chain is fastest at sqrt(size o B / ranks),
/// for an overhead o per message and a bandwidth B; for o B from 0.2 to 20 KB that is within the
/// first few doublings.
std::vector<Parameters> segmented(const Problem& problem, Size part, Size blocks) {
  const Size size = problem.collective.size, eager = largest_eager(problem.cost);
  Size least = kib;
  while (least <= 4 * size * blocks / least)
    least *= 2;
  std::vector<Parameters> candidates;
  for (const Size factor : {2, 4, 1, 8, 16}) {
    const Size message = least * factor;
    // The first size that would need a handshake is made a little smaller.
    const Size fitting = message > eager && message / 2 < eager ? eager : message;
    const Size segment = fitting * part / blocks;
    // A leaf's message has a single block.
    const bool worth = blocks == 1 || segment >= kib;
    if (segment < size && worth) candidates.push_back({.segment_size = segment});
  }
  candidates.emplace_back();
  return candidates;
}

Size message_size(const Problem& problem) {
  constexpr Size largest = 64 * kib;
  const Size eager = largest_eager(problem.cost);
  return eager < kib ? largest : std::min(eager, largest);
}

std::vector<Parameters> first_of(std::vector<Parameters> candidates, std::size_t count) {
  if (candidates.size() > count + 1)
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(count), candidates.end() - 1);
  return candidates;
}

Skeleton Algorithm::begin(const Problem& problem, const Parameters& parameters) const {
  Skeleton skeleton;
  skeleton.algorithm = name();
  skeleton.ranks = problem.collective.ranks;
  skeleton.root = problem.collective.root;
  skeleton.chunks = problem.collective.blocks();
  skeleton.segment_size = parameters.segment_size;
  return skeleton;
}

namespace {

/// Whether the MPI library ends each send before its data have left: all data fit into a message
/// that is sent eagerly. Where messages cost nothing, they are sent as in the papers.
bool ends_sends_early(const Problem& problem) {
  const Size limit = problem.cost.eager_limit;
  return limit != network::no_cost.eager_limit && problem.collective.total() <= limit;
}

} // namespace

/// To send one message at a time takes sends that end when their data have left.
Skeleton make_skeleton(const Algorithm& algorithm, const Problem& problem,
                       const Parameters& parameters) {
  Skeleton skeleton = algorithm.build(problem, parameters);
  if (skeleton.window == 1 && ends_sends_early(problem)) skeleton.window = 0;
  if (parameters.window > 0) skeleton.window = parameters.window;
  return skeleton;
}

schedule::Schedule expand(collective::Kind kind, const Skeleton& skeleton, Size size) {
  return {skeleton.chunks, skeleton.pipeline(size), emit(kind, skeleton, collective::no_rank),
          skeleton.weights};
}

} // namespace thalweg::algorithms
