#pragma once

#include "algorithms/skeleton.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Each algorithm has one file, builds a skeleton, and emits the transfers of a rank from it.
namespace thalweg::algorithms {

using collective::Collective;
using network::Network;
using network::Placement;
using schedule::Sink;

class Cache;

/// The most ranks that are planned for; with more hosts one for each, up to 131,072.
inline constexpr Rank most_ranks = 32768;

/// All that a plan depends on.
struct Problem {
  Collective collective;
  const Network& network;
  Placement placement; ///< one host per rank
  /// The cost of messages of the MPI library in use; no other library's costs count.
  network::MessageCost cost = network::no_cost;
  /// When each rank enters the collective, from 0 on; empty: all at 0. The simulator lets a rank
  /// begin then; algorithms and bounds don't read it.
  std::vector<units::Time> entries = {};
  Cache* cache = nullptr; ///< results kept for this network and placement, if any
};

/// Returns the problem for an MPI library, a key of Network::message_costs; if it is empty or
/// unknown, messages cost nothing.
Problem make_problem(Collective collective, const Network& network, Placement placement,
                     const std::string& library);

/// Checks that the placement gives each rank a host of the network, that there are no more than
/// are planned for, and that entries, if there are any, give each rank a time from 0 on. O(ranks).
/// @throws std::invalid_argument naming the rank or the number at fault
void check(const Problem& problem);
/// Checks also the collective and the whole network, for a problem from outside: whoever made it
/// may have changed the network since. O(ranks and what network::validate() reads).
/// @throws std::invalid_argument naming what is at fault
void validate(const Problem& problem);
/// The same without a problem: checks the network, and that a placement of at least one rank is
/// within it.
void validate(const Network& network, const Placement& placement);

/// An algorithm for one or several collectives. Stateless.
class Algorithm {
public:
  virtual ~Algorithm() = default;
  /// Unique, in lower case with hyphens, as in THALWEG_FORCE: "scatter-allgather".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Where the algorithm comes from: author, title, section.
  [[nodiscard]] virtual std::string_view source() const = 0;
  /// Whether build() makes skeletons for the collective with the parameters of candidates() or
  /// similar ones. An algorithm that needs a tree or a schedule from elsewhere doesn't.
  [[nodiscard]] virtual bool supports(collective::Kind kind) const = 0;
  /// Whether build() takes this very collective. Within supports(), an algorithm may exclude
  /// numbers of ranks, and excludes an in-place alltoall unless it overrides this. An algorithm
  /// that takes a tree from elsewhere includes the collectives that a tree can do.
  [[nodiscard]] virtual bool can_do(const Collective& collective) const {
    return supports(collective.kind) && !collective.in_place;
  }
  /// Returns what number of ranks can_do() needs, as in "it needs ...": "an even number of ranks".
  /// Empty if any will do.
  [[nodiscard]] virtual std::string_view needed_ranks() const { return {}; }
  /// Whether a plan may have a skeleton of this algorithm for the collective. It differs from
  /// can_do() for an algorithm that builds no skeletons itself.
  [[nodiscard]] virtual bool takes(const Collective& collective) const {
    return can_do(collective);
  }
  /// Returns the parameters worth trying for the problem, best guesses first. If there are none,
  /// the algorithm is used only on request.
  [[nodiscard]] virtual std::vector<Parameters> candidates(const Problem& problem) const;
  /// Whether build() takes at most about ranks² steps; otherwise the algorithm isn't used for large
  /// communicators inside a running program.
  [[nodiscard]] virtual bool builds_quickly(Rank /*ranks*/) const { return true; }
  /// Whether what build() makes depends on Parameters::window beyond Skeleton::window.
  [[nodiscard]] virtual bool builds_for_window() const { return false; }
  /// Whether emit() makes a correct schedule from any trees in Skeleton::parents, for a single tree
  /// with any order in which each rank comes after its parent.
  [[nodiscard]] virtual bool takes_any_tree() const { return false; }
  /// Decides. Deterministic: uses only integer arithmetic and basic IEEE operations, so that hosts
  /// agree.
  [[nodiscard]] virtual Skeleton build(const Problem& problem,
                                       const Parameters& parameters) const = 0;
  /// Checks that emit() can use the skeleton: the lists that it reads are complete, and the others
  /// are empty. The default is for an algorithm that reads `order` only.
  /// @throws std::invalid_argument naming the error
  virtual void check(const Skeleton& skeleton) const;
  /// Adds the transfers of one segment that involve `rank`, in ascending (step, from, to); all
  /// transfers if `rank` is no_rank. What emit(a) sends to b is what emit(b) receives from a, in
  /// the same order.
  virtual void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank,
                    Sink& sink) const = 0;

protected:
  /// Returns what build() begins with: the algorithm's name, the collective's ranks, root and
  /// blocks, one chunk for each, and the segments that the parameters ask for.
  [[nodiscard]] Skeleton begin(const Problem& problem, const Parameters& parameters) const;
};

/// Returns all algorithms, sorted by name.
std::span<const Algorithm* const> all();
/// @throws std::invalid_argument listing the known names
const Algorithm& find(std::string_view name);

/// Checks a skeleton that was read from bytes: its algorithm exists, all numbers are in their
/// ranges, and the algorithm's own check passes. Doesn't check what the transfers achieve.
/// O(size of the skeleton).
/// @throws std::invalid_argument naming the error
void check(const Skeleton& skeleton);

/// Checks that a skeleton is one for this collective.
/// @throws std::invalid_argument naming the difference
void check_fit(const Skeleton& skeleton, const Collective& collective);

/// Calls emit() of the skeleton's algorithm.
/// @throws std::invalid_argument if a transfer names a rank or chunk that the skeleton doesn't have
Sink emit(collective::Kind kind, const Skeleton& skeleton, Rank rank);

/// Whether each block goes straight from the rank that has it to the one that needs it, so that
/// both ends know its size though no other rank may. Cost: as emit() of all transfers, but for
/// collectives without a root for each rank.
bool sends_directly(const Collective& collective, const Skeleton& skeleton);

/// Calls Algorithm::build() and sets the window that the parameters ask for.
Skeleton make_skeleton(const Algorithm& algorithm, const Problem& problem,
                       const Parameters& parameters);

/// Returns the whole schedule of a skeleton for `size` bytes.
schedule::Schedule expand(collective::Kind kind, const Skeleton& skeleton, Size size);

/// Returns the ranks in an order of closeness for a chain or ring, starting at `first`: the hosts
/// of a site and the ranks of a host are adjacent, and the last rank of a group is near the first
/// of the next. Deterministic. O(ranks²).
std::vector<Rank> closeness_order(const Network& network, const Placement& placement, Rank first);

} // namespace thalweg::algorithms
