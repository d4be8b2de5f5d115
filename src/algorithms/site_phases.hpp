#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

/// More ranks than this, and the phases take too long to lay out inside a running program.
inline constexpr Rank most_quick_ranks = 128;

/// The ranks of a problem by site, as an algorithm that knows sites lays them out: the root's site
/// first, then the others, the farthest first. Within a site by closeness; the root, or whoever
/// reaches the other sites best, comes first. All ranks are one site if the network's sites aren't
/// known. Fills `order`, `site_begins`, `senders` and `chunks` of a skeleton.
void lay_out_sites(const Problem& problem, const Parameters& parameters, Skeleton& skeleton);

/// The senders that fill the way from one site to another: as many as were measured, else what the
/// trunk carries over what one flow gets. At least 1, at most the smaller site has ranks.
/// Source: Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast
/// Networks, section 2.4; the number is measured there by trying.
Rank measured_senders(const Problem& problem, std::span<const Rank> from, std::span<const Rank> to);

/// The chunks that both ranges have, of stride 1; count 0 if there are none.
schedule::Range overlap(schedule::Range a, schedule::Range b);

/// What algorithms do within a site, or between two, put into a sink. Members of a site are counted
/// from 0, as they come in the skeleton's order; each has a part of the chunks. Every function
/// returns the step after its last one.
class SitePhases {
public:
  /// @param only the rank whose transfers are wanted, or no_rank for all
  SitePhases(const Skeleton& skeleton, Rank only, Sink& sink);

  [[nodiscard]] std::size_t sites() const { return _skeleton.site_begins.size(); }
  [[nodiscard]] Rank members(std::size_t site) const;
  [[nodiscard]] Rank rank(std::size_t site, Rank member) const;
  /// The lowest of its ranks.
  [[nodiscard]] Rank lowest(std::size_t site) const;
  /// How partial results are combined in which `incoming` and `present` are the lowest ranks: in
  /// one order, wherever that is done.
  [[nodiscard]] static schedule::How combine(Rank incoming, Rank present) {
    return incoming < present ? schedule::How::combine_left : schedule::How::combine_right;
  }
  /// All chunks.
  [[nodiscard]] schedule::Range all() const { return {0, _skeleton.chunks, 1}; }
  /// The `index`-th of `count` parts of a range of chunks.
  [[nodiscard]] static schedule::Range part(schedule::Range whole, Rank index, Rank count);

  /// Member 0 has all chunks, and sends each member its part. Not along a tree, as the paper does:
  /// a rank's messages flow at once, so that each hop would wait for all that the one before sends.
  /// The last member first: in the ring of an allgather a member sends to the next one, which has
  /// its part by then, so that the ring doesn't take from what the scatter may use.
  schedule::Step scatter(std::size_t site, schedule::Step begin);
  /// The reverse of scatter.
  schedule::Step gather(std::size_t site, schedule::Step begin);
  /// Each member has its part: everybody gets all, along a ring. The last phase of its site.
  schedule::Step allgather(std::size_t site, schedule::Step begin);
  /// Along a ring; each member gets its part of the site's combined contributions.
  schedule::Step reduce_scatter(std::size_t site, schedule::Step begin);
  /// From each member of one site that has a part of `chunks` to the members of another that have
  /// the same part there, through the senders: others hand them their parts first.
  schedule::Step cross(std::size_t from, std::size_t to, schedule::Range chunks, schedule::How how,
                       schedule::Step begin);
  /// Says that a rank holds final data: from now on nobody is sent what it holds already.
  void hold(Rank rank, schedule::Range chunks);
  /// The chunks that a member has a part of.
  [[nodiscard]] schedule::Range own(std::size_t site, Rank member) const {
    return part(all(), member, members(site));
  }
  /// One message between two ranks.
  void send(Rank from, Rank to, schedule::Step step, schedule::How how, schedule::Range what);

private:
  /// Of `count` members of a site, the one whose part has the chunk.
  [[nodiscard]] Rank owner_of(ChunkId chunk, Rank count) const;
  std::vector<bool>& held(Rank rank);

  const Skeleton& _skeleton;
  Rank _only;
  Sink& _sink;
  std::vector<std::vector<bool>> _held; ///< by rank and chunk; empty before the first hold()
};

/// An algorithm put together from phases.
class SiteAlgorithm : public Algorithm {
public:
  [[nodiscard]] bool builds_quickly(Rank ranks) const final { return ranks <= most_quick_ranks; }
  [[nodiscard]] Skeleton build(const Problem& problem, const Parameters& parameters) const final;
  void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const final;

protected:
  /// All phases, in any order of their steps.
  virtual void add(collective::Kind kind, SitePhases& phases) const = 0;
  /// Skeleton::window.
  [[nodiscard]] virtual std::int32_t window(const Parameters& /*parameters*/) const { return 0; }
};

} // namespace thalweg::algorithms
