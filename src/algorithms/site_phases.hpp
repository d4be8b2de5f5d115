#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

/// The ranks of a problem by site, as an algorithm that knows sites lays them out: the root's site
/// first, then the others, the farthest first. Within a site by closeness; the root, or whoever
/// reaches the other sites best, comes first. All ranks are one site if the network's sites aren't
/// known. Fills `order`, `site_begins`, `senders` and `chunks` of a skeleton.
void lay_out_sites(const Problem& problem, const Parameters& parameters, Skeleton& skeleton);

/// The senders that fill the way from one site to another, as many as the network says: what the
/// trunk carries over what one flow gets. At least 1, at most the smaller site has ranks.
/// Source: Matsuda et al.: Efficient MPI Collective Operations for Clusters in Long-and-Fast
/// Networks, section 2.4; the number is measured there by trying.
Rank measured_senders(const Problem& problem, std::span<const Rank> from, std::span<const Rank> to);

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
  /// All chunks.
  [[nodiscard]] schedule::Range all() const { return {0, _skeleton.chunks, 1}; }
  /// The `index`-th of `count` parts of a range of chunks.
  [[nodiscard]] static schedule::Range part(schedule::Range whole, Rank index, Rank count);

  /// Member 0 has all chunks: each member gets its part, along a binomial tree.
  schedule::Step scatter(std::size_t site, schedule::Step begin);
  /// The reverse of scatter.
  schedule::Step gather(std::size_t site, schedule::Step begin);
  /// Each member has its part, `first_has_all` says whether member 0 has all: everybody gets all,
  /// along a ring.
  schedule::Step allgather(std::size_t site, schedule::Step begin, bool first_has_all);
  /// Along a ring; each member gets its part of the site's combined contributions.
  schedule::Step reduce_scatter(std::size_t site, schedule::Step begin);
  /// Which senders of a site have what they shall send, beside their own parts.
  enum class Handed : std::uint8_t { none, to_first, to_all };
  /// From each member of one site that has a part of `chunks` to the members of another that have
  /// the same part there, through the senders: others hand them their parts first.
  schedule::Step cross(std::size_t from, std::size_t to, schedule::Range chunks, schedule::How how,
                       schedule::Step begin, Handed handed);
  /// How many ranks of one site send to another.
  [[nodiscard]] Rank senders(std::size_t from, std::size_t to) const {
    return _skeleton.senders[from * sites() + to];
  }
  /// One message between two ranks.
  void send(Rank from, Rank to, schedule::Step step, schedule::How how, schedule::Range what);

private:
  [[nodiscard]] schedule::Range own(std::size_t site, Rank member) const {
    return part(all(), member, members(site));
  }
  /// The chunks of the members from `member` on, `count` of them or what is left.
  [[nodiscard]] schedule::Range of_members(std::size_t site, Rank member, Rank count) const;

  const Skeleton& _skeleton;
  Rank _only;
  Sink& _sink;
};

} // namespace thalweg::algorithms
