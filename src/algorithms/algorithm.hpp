#pragma once

#include "collective/collective.hpp"
#include "network/hierarchy.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Each algorithm has one file, builds a skeleton, and emits the transfers of a rank from it.
namespace thalweg::algorithms {

using collective::ChunkId;
using collective::Collective;
using collective::Rank;
using network::Network;
using network::Placement;
using schedule::Sink;
using units::Size;

class Cache;

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

/// How an algorithm assigns its positions to ranks.
enum class Order : std::uint8_t {
  closeness, ///< neighbours in the algorithm are close in the network
  rank,      ///< by rank, as MPI libraries do
};

/// A tree given by the user.
struct DeclaredTree {
  std::vector<Rank> order;   ///< the ranks as they join, root first: children in their order
  std::vector<Rank> parents; ///< rank -> parent, no_rank at the root
  bool operator==(const DeclaredTree&) const = default;
};

/// The parameters of an algorithm, as integers, so that a plan is the same on every host.
struct Parameters {
  Size segment_size = 0;   ///< bytes per segment; 0: one segment
  std::int32_t degree = 2; ///< of a k-ary or k-nomial tree; number of chains; messages in flight
  Rank senders = 0;        ///< from a site to each other site; 0: as many as fill the trunk
  Order order = Order::closeness;
  /// Parameters of the network performance hierarchy, for algorithms that use it: CMPI's k and
  /// T_span, and how groups are made equal.
  std::int32_t base = 4, span = 1;
  network::Adjust adjust = network::Adjust::close;
  /// Whether a site splits its data among its senders only while sites exchange it.
  bool early_split = false;
  std::int32_t window = 0; ///< messages in flight, for any algorithm; 0: the algorithm's own choice
  DeclaredTree tree = {};  ///< for the algorithm that takes one
  bool operator==(const Parameters&) const = default;
};

/// The decisions of an algorithm: O(ranks × trees) integers, which are stored, shared and drawn.
struct Skeleton {
  std::string algorithm; ///< Algorithm::name()
  Rank ranks = 1, root = 0;
  ChunkId chunks = 1;    ///< of one segment
  Size segment_size = 0; ///< bytes; 0: one segment for any size
  schedule::Step period = 1;
  std::int32_t window = 0; ///< messages in flight, as schedule::Pipeline::window
  /// Position -> rank, for a ring or hypercube; or the ranks as they join a tree, root first.
  std::vector<Rank> order;
  std::vector<std::vector<Rank>> parents; ///< per tree: rank -> parent, no_rank at its root
  /// By tree, then rank: the steps by which the link to the rank's parent is slow; empty: none.
  std::vector<schedule::Step> delays;
  std::vector<std::int32_t> weights; ///< by chunk; empty: equal
  /// For an algorithm that uses sites: the positions of `order` at which sites begin, and how many
  /// ranks of one site send to another, by (from, to).
  std::vector<Rank> site_begins, senders;
  /// For rounds in their own order: how many positions further on in `order` ranks send in each
  /// round. Empty, or each of 1 ... ranks - 1 once.
  std::vector<Rank> distances;
  /// For "listed" only: all transfers of one segment, as algorithms/listed.hpp lays them out.
  std::vector<std::int64_t> transfers;
  bool operator==(const Skeleton&) const = default;

  /// Returns the segments that `size` bytes are cut into: at least one, none empty if size > 0.
  [[nodiscard]] schedule::Pipeline pipeline(Size size) const;
};

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
  /// Returns the parameters worth trying for the problem, best guesses first. If there are none,
  /// the algorithm is used only on request.
  [[nodiscard]] virtual std::vector<Parameters> candidates(const Problem& problem) const;
  /// Whether build() takes at most about ranks² steps; otherwise the algorithm isn't used for large
  /// communicators inside a running program.
  [[nodiscard]] virtual bool builds_quickly(Rank /*ranks*/) const { return true; }
  /// Whether emit() makes a correct schedule from any trees in Skeleton::parents, for a single tree
  /// with any order in which each rank comes after its parent.
  [[nodiscard]] virtual bool takes_any_tree() const { return false; }
  /// Decides. Deterministic: uses only integer arithmetic and basic IEEE operations, so that hosts
  /// agree.
  [[nodiscard]] virtual Skeleton build(const Problem& problem,
                                       const Parameters& parameters) const = 0;
  /// Adds the transfers of one segment that involve `rank`, in ascending (step, from, to); all
  /// transfers if `rank` is no_rank. What emit(a) sends to b is what emit(b) receives from a, in
  /// the same order.
  virtual void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank,
                    Sink& sink) const = 0;
};

/// Returns all algorithms, sorted by name.
std::span<const Algorithm* const> all();
/// @throws std::invalid_argument listing the known names
const Algorithm& find(std::string_view name);

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
