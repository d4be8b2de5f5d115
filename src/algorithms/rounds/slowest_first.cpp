/// Every rank sends to every other in rounds: in each, all ranks send the same number of positions
/// further on, so that no two send to the same. The rounds with the slowest messages come first, so
/// that a slow link is busy from the beginning and no long latency is left for the end; rounds of
/// about the same speed stay in their order, in which far and near ranks alternate. Each trunk then
/// has messages of all ranks from the first round to the last. Long blocks are cut into segments,
/// with all rounds for one after the other: messages that need no handshake fill the ports soon,
/// and a slow flow doesn't hold up the others.
/// Source: the shifts of MPI libraries' linear alltoall, in the order of Graham's rule (Bounds on
/// Multiprocessing Timing Anomalies): the longest task first.
#include "algorithms/order.hpp"
#include "algorithms/quick.hpp"
#include "algorithms/rounds/rounds.hpp"
#include "algorithms/segments.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;

/// The number of messages without a handshake that fills a short path while its ends have other
/// messages too.
constexpr std::int32_t short_path_window = 16;
/// The window for uncut blocks: fewer messages share a port, and arrive sooner.
constexpr std::int32_t narrow_window = 4;

/// Returns the time in quarters of an octave, without logarithms, in which hosts may differ.
int magnitude(double seconds) {
  int exponent = 0;
  const double mantissa = std::frexp(seconds, &exponent);
  int quarter = 0;
  for (const double limit : {0.594604, 0.707107, 0.840896})
    quarter += mantissa >= limit ? 1 : 0;
  return 4 * exponent + quarter;
}

/// Returns for each position in the order the first one after it whose rank is on another host.
std::vector<Rank> ends_of_hosts(const Problem& problem, const std::vector<Rank>& order) {
  std::vector<Rank> ends(order.size(), problem.collective.ranks);
  const auto host = [&](Rank at) { return problem.placement[index(order[index(at)])]; };
  for (Rank at = problem.collective.ranks - 2; at >= 0; --at)
    ends[index(at)] = host(at) == host(at + 1) ? ends[index(at + 1)] : at + 1;
  return ends;
}

/// Returns the magnitude of the slowest message, by the distance of its ends in the order less 1.
/// O(ranks * changes of the host in the order): neighbours whose partners also share a host need
/// one look.
std::vector<int> slowest_by_distance(const Problem& problem, const std::vector<Rank>& order) {
  const Rank ranks = problem.collective.ranks;
  const std::vector<Rank> ends = ends_of_hosts(problem, order);
  std::vector<int> slowest;
  for (Rank distance = 1; distance < ranks; ++distance) {
    units::Time longest{};
    for (Rank at = 0; at < ranks;) {
      const Rank partner = (at + distance) % ranks;
      const Rank from = order[index(at)], to = order[index(partner)];
      longest = std::max(longest, problem.network.transfer_time(problem.placement[index(from)],
                                                                problem.placement[index(to)],
                                                                problem.collective.size));
      at += std::min(ends[index(at)] - at, ends[index(partner)] - partner);
    }
    slowest.push_back(magnitude(longest.value()));
  }
  return slowest;
}

class SlowestFirst final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "slowest-first"; }
  [[nodiscard]] std::string_view source() const override {
    return "MPI libraries' linear alltoall, in the order of Graham: Bounds on Multiprocessing "
           "Timing Anomalies";
  }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override {
    return ranks <= most_squared_ranks;
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    return kind == Kind::alltoall || kind == Kind::allgather;
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    const Size message = message_size(problem);
    if (problem.collective.size <= message) return {{}, {.window = narrow_window}};
    return {{.segment_size = message},
            {.segment_size = message, .window = short_path_window},
            {},
            {.window = narrow_window}};
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton = begin(problem, parameters);
    skeleton.period = std::max(1, skeleton.ranks - 1);
    skeleton.order = make_order(problem, parameters, problem.collective.root, Shape::ring);
    skeleton.distances.resize(index(skeleton.ranks - 1));
    std::iota(skeleton.distances.begin(), skeleton.distances.end(), 1);
    const std::vector<int> slowest = slowest_by_distance(problem, skeleton.order);
    std::ranges::stable_sort(skeleton.distances, std::greater<>(),
                             [&](Rank distance) { return slowest[index(distance - 1)]; });
    return skeleton;
  }

  void check(const Skeleton& skeleton) const override {
    check_lists(skeleton, {"order", "distances"});
    check_order(skeleton);
    check_permutation(skeleton.distances, 1, skeleton.ranks);
  }

  void emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    const Circle circle(kind, skeleton.order);
    const auto add = [&](Rank from, Rank to, Step round) {
      const ChunkId block = kind == Kind::alltoall ? circle.block(from, to) : circle.at(from);
      sink.add(circle.at(from), circle.at(to), round, schedule::How::copy,
               schedule::Range{block, 1, 1});
    };
    for (Rank at = 0; at < skeleton.ranks; ++at) {
      if (rank != no_rank && rank != circle.at(at)) continue;
      for (Step round = 0; const Rank distance : skeleton.distances) {
        add(at, circle.wrap(at + distance), round);
        if (rank != no_rank) add(circle.wrap(at - distance), at, round);
        ++round;
      }
    }
    sink.sort();
  }
};

} // namespace

const Algorithm& slowest_first() {
  static const SlowestFirst algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
