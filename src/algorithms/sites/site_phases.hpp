#pragma once

#include "algorithms/algorithm.hpp"

#include <algorithm>

namespace thalweg::algorithms {

/// More ranks than this, and the phases take too long to lay out inside a running program.
inline constexpr Rank most_quick_ranks = 128;

/// The ranks of a problem by site, as an algorithm that knows sites lays them out: the root's site
/// first, then the others, the farthest first. Within a site by closeness; the root, or whoever
/// reaches the other sites best, comes first. All ranks are one site if the network's sites aren't
/// known. Fills `order`, `site_begins`, `senders` and `chunks` of a skeleton; from a site to itself
/// `senders` says how many of its ranks are owners.
void lay_out_sites(const Problem& problem, const Parameters& parameters, Skeleton& skeleton);

/// The ways between sites, as far as they say how many ranks should send at once.
/// Source: Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast
/// Networks, sections 2.4 and 2.5; the number is measured there by trying.
class Ways {
public:
  /// @param sites the ranks by site; those of a rooted collective only use the ways from or to the
  /// first one. The arguments must outlive it.
  Ways(const Problem& problem, const std::vector<std::vector<Rank>>& sites);
  /// The senders that fill the way from one site to another: as many as were measured, else what
  /// the trunk carries over what one flow gets; a trunk that several ways share is divided among
  /// them. At least 1, at most the smaller site has ranks.
  [[nodiscard]] Rank senders(std::size_t from, std::size_t to) const;
  /// How many of a site's ranks send or receive, at most, given Skeleton::senders.
  [[nodiscard]] Rank owners(std::size_t site, std::span<const Rank> senders) const;

private:
  /// A trunk, from and to which sites it leads, and how many of the used ways cross it.
  struct Crossed {
    const network::Trunk& trunk;
    std::vector<bool> from, to;
    int ways = 0;
  };
  [[nodiscard]] bool is_used(std::size_t from, std::size_t to) const;

  const Problem& _problem;
  const std::vector<std::vector<Rank>>& _sites;
  std::vector<Crossed> _trunks;
};

/// The chunks that both ranges have, of stride 1; count 0 if there are none.
schedule::Range overlap(schedule::Range a, schedule::Range b);

/// What algorithms do within a site, or between two, put into a sink. Members of a site are counted
/// from 0, as they come in the skeleton's order; each has a part of the chunks. Some of them are
/// *owners*: between scatter() and spread(), or collect() and gather(), an owner has its own part
/// and those of the members between it and the next owner. Where all are owners, as they are unless
/// the split of the data stops early, that is the members' own parts. Every function returns the
/// step after its last one.
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

  [[nodiscard]] Rank owners(std::size_t site) const {
    return std::min(members(site), _skeleton.senders[site * sites() + site]);
  }

  /// Member 0 has all chunks, and sends each owner its part. Not along a tree, as the paper does:
  /// a rank's messages flow at once, so that each hop would wait for all that the one before sends.
  /// The last owner first: in the ring of an allgather a member sends to the next one, which has
  /// its part by then, so that the ring doesn't take from what the scatter may use.
  schedule::Step scatter(std::size_t site, schedule::Step begin);
  /// The reverse of scatter.
  schedule::Step gather(std::size_t site, schedule::Step begin);
  /// Each owner sends the members behind it their parts: the rest of the split.
  schedule::Step spread(std::size_t site, schedule::Step begin);
  /// The reverse of spread.
  schedule::Step collect(std::size_t site, schedule::Step begin);
  /// Each member has its part: everybody gets all, along a ring. The last phase of its site.
  schedule::Step allgather(std::size_t site, schedule::Step begin);
  /// Along a ring; each member gets its part of the site's combined contributions.
  schedule::Step reduce_scatter(std::size_t site, schedule::Step begin);
  /// From each owner of one site that has a part of `chunks` to the owners of another that have the
  /// same part there, through the senders: others hand them their parts first.
  schedule::Step cross(std::size_t from, std::size_t to, schedule::Range chunks, schedule::How how,
                       schedule::Step begin);
  /// Says that a rank holds final data: from now on nobody is sent what it holds already.
  void hold(Rank rank, schedule::Range chunks);
  /// Says so of the parts of `chunks` that a site's owners have.
  void hold_owned(std::size_t site, schedule::Range chunks);
  /// The chunks that a member has a part of.
  [[nodiscard]] schedule::Range own(std::size_t site, Rank member) const {
    return part(all(), member, members(site));
  }
  /// One message between two ranks.
  void send(Rank from, Rank to, schedule::Step step, schedule::How how, schedule::Range what);

private:
  /// Of `count` parts of all chunks, the one that has the chunk.
  [[nodiscard]] Rank owner_of(ChunkId chunk, Rank count) const;
  /// The member that is a site's `owner`-th owner.
  [[nodiscard]] Rank member_of(std::size_t site, Rank owner) const;
  /// The part that an owner has.
  [[nodiscard]] schedule::Range owned(std::size_t site, Rank owner) const;
  /// Calls `visit` with each owner and member, as members, and the chunks of the member's part that
  /// are in the owner's.
  template <class Visit>
  void for_each_kept(std::size_t site, Visit visit) const;
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
  void check(const Skeleton& skeleton) const final;
  void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const final;

protected:
  /// All phases, in any order of their steps.
  virtual void add(collective::Kind kind, SitePhases& phases) const = 0;
  /// Adds the best guess, and the last candidate, with a split that stops early.
  [[nodiscard]] static std::vector<Parameters> with_early_split(std::vector<Parameters> candidates);
  /// Whether Parameters::split means anything to it.
  [[nodiscard]] virtual bool may_split_early() const { return false; }
  /// Skeleton::window.
  [[nodiscard]] virtual std::int32_t window(const Parameters& /*parameters*/) const { return 0; }
};

} // namespace thalweg::algorithms
