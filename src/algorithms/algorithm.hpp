#pragma once

#include "collective/collective.hpp"
#include "network/hierarchy.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// One file per algorithm, each of which builds a skeleton and emits the transfers of a rank from
/// it.
namespace thalweg::algorithms {

using collective::ChunkId;
using collective::Collective;
using collective::Rank;
using network::Network;
using network::Placement;
using schedule::Sink;
using units::Size;

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

/// How an algorithm lays its positions onto the ranks.
enum class Order : std::uint8_t {
  closeness, ///< neighbours in the algorithm are close in the network
  rank,      ///< by rank, as MPI libraries do
};

/// A tree that somebody wrote down.
struct DeclaredTree {
  std::vector<Rank> order;   ///< the ranks as they join it, root first: children in their order
  std::vector<Rank> parents; ///< rank -> parent, no_rank at the root
  bool operator==(const DeclaredTree&) const = default;
};

/// What can be chosen of an algorithm. Integers, so that a plan is the same on every host.
struct Parameters {
  Size segment_size = 0;   ///< bytes per segment; 0: one segment
  std::int32_t degree = 2; ///< of a k-ary or k-nomial tree; chains; messages in flight
  Rank senders = 0;        ///< per site, to each other site; 0: as many as fill the trunk
  Order order = Order::closeness;
  /// Of the network performance hierarchy, for algorithms that go by it: CMPI's k and T_span, and
  /// how groups are made equal.
  std::int32_t base = 4, span = 1;
  network::Adjust adjust = network::Adjust::close;
  /// Whether the data of a site is split among its senders only, while sites exchange it.
  bool early_split = false;
  std::int32_t window = 0; ///< messages in flight, whatever the algorithm; 0: as it has it
  DeclaredTree tree = {};  ///< of the algorithm that takes one
  bool operator==(const Parameters&) const = default;
};

/// What an algorithm decided: integers, O(ranks × trees) of them. It is what is stored, shared and
/// drawn.
struct Skeleton {
  std::string algorithm; ///< Algorithm::name()
  Rank ranks = 1, root = 0;
  ChunkId chunks = 1;    ///< of one segment
  Size segment_size = 0; ///< bytes; 0: one segment whatever the size
  schedule::Step period = 1;
  std::int32_t window = 0; ///< messages in flight, as schedule::Pipeline::window
  /// Position -> rank, of a ring or hypercube; or the ranks as they join a tree, root first.
  std::vector<Rank> order;
  std::vector<std::vector<Rank>> parents; ///< per tree: rank -> parent, no_rank at its root
  /// Of trees, one after another: rank -> steps by which the link to its parent is slow; empty:
  /// none.
  std::vector<schedule::Step> delays;
  std::vector<std::int32_t> weights; ///< of the chunks; empty: equal
  /// Of an algorithm that knows sites: positions of `order` at which they begin, and how many ranks
  /// of one send to another, by (from, to).
  std::vector<Rank> site_begins, senders;
  /// Of rounds in an order of their own: how many positions further on in `order` ranks send in
  /// each. Empty, or each of 1 ... ranks - 1 once.
  std::vector<Rank> distances;
  /// Of "listed" only: all transfers of one segment, as algorithms/listed.hpp lays them out.
  std::vector<std::int64_t> transfers;
  bool operator==(const Skeleton&) const = default;

  /// Segments that `size` bytes are cut into: at least one, never an empty one if size > 0.
  [[nodiscard]] schedule::Pipeline pipeline(Size size) const;
};

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
