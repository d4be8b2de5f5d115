#pragma once

#include "algorithms/algorithm.hpp"

#include <algorithm>

namespace thalweg::algorithms {

/// With more ranks, the phases take too long to lay out inside a running program.
inline constexpr Rank most_quick_ranks = 128;

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

  /// Member 0, which has all chunks, sends each owner its part: itself, or by recursive halving
  /// (Inside). With the paper's halving each hop waits for everything the hop before sends, since
  /// here a rank's messages flow at the same time. Otherwise the last owner is served first: in an
  /// allgather's ring a member sends to the next one, which then already has its part, so the ring
  /// doesn't take bandwidth from the scatter.
  schedule::Step scatter(std::size_t site, schedule::Step begin);
  /// The reverse of scatter().
  schedule::Step gather(std::size_t site, schedule::Step begin);
  /// Each owner sends the members behind it their parts, which completes the split.
  schedule::Step spread(std::size_t site, schedule::Step begin);
  /// The reverse of spread().
  schedule::Step collect(std::size_t site, schedule::Step begin);
  /// Each member has its part and gets all others along a ring, or by recursive doubling. Must be
  /// the last phase of its site.
  schedule::Step allgather(std::size_t site, schedule::Step begin);
  /// Along a ring, or by recursive halving, each member gets its part of the site's combined
  /// contributions.
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
  [[nodiscard]] bool recursive() const { return _skeleton.inside == Inside::recursive; }
  /// Returns the parts of the owners from `first` up to below `end`.
  [[nodiscard]] schedule::Range owned(std::size_t site, Rank first, Rank end) const;
  /// Returns the parts of the members from `first` up to below `end`.
  [[nodiscard]] schedule::Range own(std::size_t site, Rank first, Rank end) const;
  schedule::Step allgather_by_doubling(std::size_t site, schedule::Step begin);
  schedule::Step reduce_scatter_by_halving(std::size_t site, schedule::Step begin);
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
  /// Returns the candidates of an algorithm that makes use of Parameters::split and
  /// Parameters::inside: several segment sizes, the first and the last of them also with an early
  /// split, and the first with recursive phases. With one site there is only one candidate, the
  /// same as the algorithm for one site that this one extends.
  [[nodiscard]] static std::vector<Parameters> split_candidates(const Problem& problem);
  /// Whether the algorithm makes use of Parameters::split.
  [[nodiscard]] virtual bool may_split_early() const { return false; }
  /// Returns Skeleton::window.
  [[nodiscard]] virtual std::int32_t window(const Parameters& /*parameters*/) const { return 0; }
};

} // namespace thalweg::algorithms
