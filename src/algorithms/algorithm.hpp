#pragma once

#include "algorithms/skeleton.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// One file per algorithm, each of which builds a skeleton and emits the transfers of a rank from
/// it.
namespace thalweg::algorithms {

using collective::Collective;
using network::Network;
using network::Placement;
using schedule::Sink;

class Cache;

/// What a plan depends on.
struct Problem {
  Collective collective;
  const Network& network;
  Placement placement; ///< one host per rank
  /// What messages of the MPI library in use cost; no other library's costs count.
  network::MessageCost cost = network::no_cost;
  /// When each rank enters the collective, from 0 on; empty: all at 0. The simulator lets a rank
  /// begin then; algorithms and bounds don't read it.
  std::vector<units::Time> entries = {};
  Cache* cache = nullptr; ///< what was found out for this network and placement, if kept
};

/// The problem for an MPI library, a key of Network::message_costs; of one that is empty or unknown
/// messages cost nothing.
Problem make_problem(Collective collective, const Network& network, Placement placement,
                     const std::string& library);

/// An algorithm for one or several collectives. Stateless.
class Algorithm {
public:
  virtual ~Algorithm() = default;
  /// Unique, in lower case with hyphens, as in THALWEG_FORCE: "scatter-allgather".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Where it comes from: author, title, section.
  [[nodiscard]] virtual std::string_view source() const = 0;
  /// Whether build() makes skeletons for the collective, with the parameters that candidates() says
  /// or any like them. One that needs a tree or a schedule from elsewhere doesn't.
  [[nodiscard]] virtual bool supports(collective::Kind kind) const = 0;
  /// Whether build() takes this very collective. Of those that supports() promises, an algorithm
  /// may leave out numbers of ranks, and leaves out an alltoall in place unless it says otherwise.
  /// An algorithm that takes a tree from elsewhere adds those that a tree can do.
  [[nodiscard]] virtual bool can_do(const Collective& collective) const {
    return supports(collective.kind) && !collective.in_place;
  }
  /// Whether a skeleton in a plan may be for this collective: more than can_do() where skeletons
  /// come from elsewhere.
  [[nodiscard]] virtual bool takes(const Collective& collective) const {
    return can_do(collective);
  }
  /// The parameters worth trying for the problem, best guesses first. None: it must be asked for.
  [[nodiscard]] virtual std::vector<Parameters> candidates(const Problem& problem) const;
  /// Whether build() takes no more than about ranks² steps: else large communicators aren't planned
  /// with it inside a running program.
  [[nodiscard]] virtual bool builds_quickly(Rank /*ranks*/) const { return true; }
  /// Whether emit() makes a correct schedule of any trees in Skeleton::parents, of one tree with
  /// any order in which each rank comes after its parent.
  [[nodiscard]] virtual bool takes_any_tree() const { return false; }
  /// Deterministic: only integer arithmetic and the basic IEEE operations, so that hosts agree.
  [[nodiscard]] virtual Skeleton build(const Problem& problem,
                                       const Parameters& parameters) const = 0;
  /// Whether emit() can go through the skeleton, beyond what algorithms::check() knows: what it
  /// reads is there, and what it doesn't isn't. Here for one that reads `order` only.
  /// @throws std::invalid_argument naming what is wrong
  virtual void check(const Skeleton& skeleton) const;
  /// Adds the transfers of one segment that `rank` takes part in, in ascending (step, from, to).
  /// What emit(a) sends to b is what emit(b) receives from a, in the same order. Adds those of all
  /// ranks if `rank` is no_rank.
  virtual void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank,
                    Sink& sink) const = 0;
};

/// All algorithms, in the order of their names.
std::span<const Algorithm* const> all();
/// @throws std::invalid_argument listing the known names
const Algorithm& find(std::string_view name);

/// Checks a skeleton that came from outside: its algorithm is known, all numbers are in their
/// ranges, and Algorithm::check(). Not whether its transfers do what a collective asks for.
/// O(skeleton).
/// @throws std::invalid_argument naming what is wrong
void check(const Skeleton& skeleton);

/// Algorithm::emit() of the skeleton's algorithm.
/// @throws std::invalid_argument if a transfer names a rank or chunk that the skeleton hasn't
Sink emit(collective::Kind kind, const Skeleton& skeleton, Rank rank);

/// Algorithm::build(), with the window that the parameters ask for.
Skeleton make_skeleton(const Algorithm& algorithm, const Problem& problem,
                       const Parameters& parameters);

/// The whole schedule of a skeleton for `size` bytes.
schedule::Schedule expand(collective::Kind kind, const Skeleton& skeleton, Size size);

/// Ranks in an order of closeness for a chain or ring, starting at `first`: hosts of a site, ranks
/// of a host are adjacent; the last of one group is near the first of the next. O(ranks²).
/// Deterministic.
std::vector<Rank> closeness_order(const Network& network, const Placement& placement, Rank first);

} // namespace thalweg::algorithms
