#pragma once

#include "algorithms/algorithm.hpp"

#include <algorithm>

namespace thalweg::algorithms {

/// With more ranks, the phases take too long to lay out inside a running program.
inline constexpr Rank most_quick_ranks = 128;

/// Groups the ranks of a problem by site: the root's site first, then the others, the farthest
/// first. Within a site ranks are ordered by closeness, beginning with the root or the rank that
/// reaches the other sites best. If the network has no sites, all ranks form one. Fills `order`,
/// `site_begins`, `senders` and `chunks` of a skeleton; the entry of `senders` from a site to
/// itself is its number of owners.
void lay_out_sites(const Problem& problem, const Parameters& parameters, Skeleton& skeleton);

/// Knows the paths between sites and how many ranks should send along each at once.
/// Source: Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast
/// Networks, sections 2.4 and 2.5; there the number is found by measuring.
class SitePaths {
public:
  /// @param sites the ranks by site; a rooted collective only uses the paths from or to the first
  /// one. The arguments must outlive it.
  SitePaths(const Problem& problem, const std::vector<std::vector<Rank>>& sites);
  /// Returns the senders that fill the path between two sites: the measured number, else the
  /// trunk's capacity divided by the rate of one flow. A trunk that several paths share is divided
  /// among them. At least 1, at most the ranks of the smaller site.
  [[nodiscard]] Rank senders(std::size_t from, std::size_t to) const;
  /// Returns how many of a site's ranks send or receive, at most, given Skeleton::senders.
  [[nodiscard]] Rank owners(std::size_t site, std::span<const Rank> senders) const;

private:
  /// A trunk, the sites it connects, and how many used paths cross it.
  struct Crossed {
    const network::Trunk& trunk;
    std::vector<bool> from, to;
    int paths = 0;
  };
  [[nodiscard]] bool is_used(std::size_t from, std::size_t to) const;

  const Problem& _problem;
  const std::vector<std::vector<Rank>>& _sites;
  std::vector<Crossed> _trunks;
};

/// Returns the chunks that both ranges of stride 1 contain; count 0 if there are none.
schedule::Range overlap(schedule::Range a, schedule::Range b);

/// Emits an algorithm's transfers within a site, or between two, into a sink. Members of a site are
/// numbered from 0 in the skeleton's order; each has a part of the chunks. Some of them are
/// *owners*: between scatter() and spread(), or collect() and gather(), an owner holds its own part
/// and the parts of the members up to the next owner. All members are owners unless the split of
/// the data stops early. Every function returns the step after its last one.
class SitePhases {
public:
  /// @param only the rank whose transfers are wanted, or no_rank for all
  SitePhases(const Skeleton& skeleton, Rank only, Sink& sink);

  [[nodiscard]] std::size_t sites() const { return _skeleton.site_begins.size(); }
  [[nodiscard]] Rank members(std::size_t site) const;
  [[nodiscard]] Rank rank(std::size_t site, Rank member) const;
  /// Returns the lowest rank of a site.
  [[nodiscard]] Rank lowest(std::size_t site) const;
  /// Returns how to combine partial results whose lowest ranks are `incoming` and `present`, so
  /// that the order is the same wherever it is done.
  [[nodiscard]] static schedule::How combine(Rank incoming, Rank present) {
    return incoming < present ? schedule::How::combine_left : schedule::How::combine_right;
  }
  /// Returns the range of all chunks.
  [[nodiscard]] schedule::Range all() const { return {0, _skeleton.chunks, 1}; }
  /// Returns the `index`-th of `count` parts of a range of chunks.
  [[nodiscard]] static schedule::Range part(schedule::Range whole, Rank index, Rank count);

  [[nodiscard]] Rank owners(std::size_t site) const {
    return std::min(members(site), _skeleton.senders[site * sites() + site]);
  }

  /// Member 0, which has all chunks, sends each owner its part. The paper uses a tree; here a
  /// rank's messages flow at the same time, so each hop would wait for everything the hop before
  /// sends. The last owner is served first: in an allgather's ring a member sends to the next one,
  /// which then already has its part, so the ring doesn't take bandwidth from the scatter.
  schedule::Step scatter(std::size_t site, schedule::Step begin);
  /// The reverse of scatter().
  schedule::Step gather(std::size_t site, schedule::Step begin);
  /// Each owner sends the members behind it their parts, which completes the split.
  schedule::Step spread(std::size_t site, schedule::Step begin);
  /// The reverse of spread().
  schedule::Step collect(std::size_t site, schedule::Step begin);
  /// Each member has its part and gets all others along a ring. Must be the last phase of its site.
  schedule::Step allgather(std::size_t site, schedule::Step begin);
  /// Along a ring, each member gets its part of the site's combined contributions.
  schedule::Step reduce_scatter(std::size_t site, schedule::Step begin);
  /// Each owner of one site sends its part of `chunks` to the owners of that part in another site.
  /// The senders carry the messages: other owners first hand their parts to them.
  schedule::Step cross(std::size_t from, std::size_t to, schedule::Range chunks, schedule::How how,
                       schedule::Step begin);
  /// Records that a rank holds final data; later phases send it none of these chunks again.
  void hold(Rank rank, schedule::Range chunks);
  /// Records the same for the parts of `chunks` that a site's owners hold.
  void hold_owned(std::size_t site, schedule::Range chunks);
  /// Returns a member's part of the chunks.
  [[nodiscard]] schedule::Range own(std::size_t site, Rank member) const {
    return part(all(), member, members(site));
  }
  /// Sends one message between two ranks.
  void send(Rank from, Rank to, schedule::Step step, schedule::How how, schedule::Range what);

private:
  /// Returns which of `count` parts of all chunks contains the chunk.
  [[nodiscard]] Rank owner_of(ChunkId chunk, Rank count) const;
  /// Returns the member that is a site's `owner`-th owner.
  [[nodiscard]] Rank member_of(std::size_t site, Rank owner) const;
  /// Returns the part that an owner holds.
  [[nodiscard]] schedule::Range owned(std::size_t site, Rank owner) const;
  /// Calls `visit` with each owner and member, as members, and the chunks of the member's part that
  /// the owner holds.
  template <class Visit>
  void for_each_kept(std::size_t site, Visit visit) const;
  std::vector<bool>& held(Rank rank);

  const Skeleton& _skeleton;
  Rank _only;
  Sink& _sink;
  std::vector<std::vector<bool>> _held; ///< by rank and chunk; empty before the first hold()
};

/// An algorithm composed of site phases.
class SiteAlgorithm : public Algorithm {
public:
  [[nodiscard]] bool builds_quickly(Rank ranks) const final { return ranks <= most_quick_ranks; }
  [[nodiscard]] Skeleton build(const Problem& problem, const Parameters& parameters) const final;
  void check(const Skeleton& skeleton) const final;
  void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const final;

protected:
  /// Emits all phases, in any order of their steps.
  virtual void add(collective::Kind kind, SitePhases& phases) const = 0;
  /// Appends the first candidate and the last one, each with an early split.
  [[nodiscard]] static std::vector<Parameters> with_early_split(std::vector<Parameters> candidates);
  /// Whether the algorithm makes use of Parameters::split.
  [[nodiscard]] virtual bool may_split_early() const { return false; }
  /// Returns Skeleton::window.
  [[nodiscard]] virtual std::int32_t window(const Parameters& /*parameters*/) const { return 0; }
};

} // namespace thalweg::algorithms
