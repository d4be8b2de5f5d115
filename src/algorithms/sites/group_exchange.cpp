/// Groups of close ranks exchange data directly: a message crosses from one group to another once,
/// whatever the number of groups, so that the longest latency counts once. Every part of the data
/// has an owner in each group. For an allreduce the members of a group send their contributions to
/// the owners, owners of the same part exchange the group's sums, each combining them in the same
/// order, and pass the result on in their group. In an allgather a rank sends its block to the
/// owners of its parts in the other groups, which pass them on; a reduce_scatter is the reverse. In
/// a bcast or reduce the root's group hands the parts out, or collects them. With one rank per
/// group everyone sends straight to everyone who needs the data.
///
/// The parts are dealt out differently in each group: any two owners of different groups share
/// about as many parts. So data between two groups flows over as many connections as there are
/// pairs of owners, which begin with a window each.
/// Source: Kielmann et al.: MagPIe (each message crosses a wide-area link once); the owners are
/// those of Rabenseifner's allreduce.
#include "algorithms/quick.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/sites/group_messages.hpp"
#include "algorithms/sites/groups.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::How;
using schedule::Step;

/// The most parts that data or a block is cut into.
constexpr Rank most_parts = 64;
/// The most hosts that all send straight to each other.
constexpr std::size_t most_straight = 128;

/// The messages of each kind of collective.
class Exchange : GroupMessages {
public:
  Exchange(Kind kind, const Skeleton& skeleton, Rank only, Sink& sink)
      : GroupMessages(kind, skeleton, only, sink), _kind(kind),
        _group(only == no_rank ? 0 : group_of(only)) {}

  void emit() {
    switch (_kind) {
    case Kind::allreduce:
      return allreduce();
    case Kind::allgather:
      return allgather();
    case Kind::reduce_scatter:
      return reduce_scatter();
    case Kind::bcast:
      return bcast();
    case Kind::reduce:
      return reduce();
    case Kind::gather:
    case Kind::scatter:
    case Kind::alltoall:
    case Kind::scan:
    case Kind::exscan:
    case Kind::barrier:
      return; // see supports()
    }
  }

private:
  using Visit = std::function<void(Rank owner, const Chunks& chunks)>;

  /// Returns the step, from 0 on, in which a group sends to another: each step every group sends to
  /// a different one.
  [[nodiscard]] Step turn(std::size_t from, std::size_t to) const {
    return static_cast<Step>((to + groups() - from - 1) % groups());
  }
  [[nodiscard]] Step steps() const { return static_cast<Step>(groups()); }
  /// Returns the step after all that crosses between groups.
  [[nodiscard]] Step after() const { return steps() + 1 + gap(); }

  /// Whether a rank that is wanted may be in the group.
  [[nodiscard]] bool concerns(std::size_t group) const {
    return only() == no_rank || group == _group;
  }
  /// Returns how a group's sum is combined, those of groups with lower ranks first.
  [[nodiscard]] How combine_across(std::size_t from) const {
    return place(from) == 0 ? How::combine_left : How::combine_right;
  }

  /// Visits the owners in a group of the parts of a block that a member of another group has; the
  /// parts of a block are adjacent.
  void for_each_owner(std::size_t group, std::size_t of, Rank member, const Visit& visit) const {
    const Rank count = owners(group);
    const auto edge = [&](Rank i) { return std::int64_t{parts()} * i / count; };
    for (Rank i = 0; i < count; ++i) {
      Chunks chunks;
      for (std::int64_t part = edge(i); part < edge(i + 1); ++part)
        chunks.push_back(ChunkId{rank(of, member)} * parts() + part);
      if (!chunks.empty()) visit(rank(group, (i + member) % count), chunks);
    }
  }
  /// Visits the owners in a group of blocks of the members of another, with their chunks: of all
  /// members together or, if there are segments, of each, since messages should stay short.
  void for_each_collector(std::size_t group, std::size_t of, const Visit& visit) const {
    std::map<Rank, Chunks> collected;
    for (Rank member = 0; member < members(of); ++member) {
      if (skeleton().segment_size > 0) {
        for_each_owner(group, of, member, visit);
        continue;
      }
      for_each_owner(group, of, member, [&](Rank owner, const Chunks& chunks) {
        Chunks& all = collected[owner];
        all.insert(all.end(), chunks.begin(), chunks.end());
      });
    }
    for (auto& [owner, chunks] : collected) {
      std::ranges::sort(chunks);
      visit(owner, chunks);
    }
  }
  [[nodiscard]] Chunks block(Rank of) const {
    Chunks chunks;
    for (Rank part = 0; part < parts(); ++part)
      chunks.push_back(ChunkId{of} * parts() + part);
    return chunks;
  }
  template <class Body>
  void for_each_member(std::size_t group, Body body) {
    for (Rank member = 0; member < members(group); ++member)
      body(rank(group, member));
  }

  /// Sums of lower groups are combined apart, until the owner's own one follows them.
  void allreduce() {
    collect(0);
    for (std::size_t from = 0; from < groups(); ++from) {
      const Step step = place(from) + 1;
      const How how = place(from) == 0 ? How::copy : How::combine_right;
      for (std::size_t to = 0; to < groups(); ++to)
        if (to != from) cross(from, to, step, how, place(to) > place(from) ? 1 : 0);
      for (Rank owner = 0; place(from) > 0 && owner < owners(from); ++owner)
        combine_left(rank(from, owner), step, owned(from, owner));
    }
    spread_all(no_rank);
  }
  void spread_all(Rank without) {
    for (std::size_t group = 0; group < groups(); ++group)
      spread(group, after(), without);
  }

  void allgather() {
    for (std::size_t from = 0; from < groups(); ++from) {
      for (std::size_t to = 0; to < groups(); ++to)
        for (Rank member = 0; to != from && member < members(from); ++member)
          if (concerns(from) || concerns(to))
            for_each_owner(to, from, member, [&](Rank owner, const Chunks& chunks) {
              send(rank(from, member), owner, turn(from, to), How::copy, chunks);
            });
      if (!concerns(from)) continue;
      for_each_member(from, [&](Rank source) {
        const Chunks own = block(source);
        for_each_member(from, [&](Rank to) { send(source, to, steps() - 1, How::copy, own); });
      });
      for (std::size_t of = 0; of < groups(); ++of)
        if (of != from)
          for_each_collector(from, of, [&](Rank owner, const Chunks& chunks) {
            for_each_member(from, [&](Rank to) {
              send(owner, to, after() + turn(of, from) - 1, How::copy, chunks);
            });
          });
    }
  }

  void reduce_scatter() {
    for (std::size_t from = 0; from < groups(); ++from) {
      for (std::size_t to = 0; to < groups(); ++to)
        for (Rank member = 0; to != from && member < members(to); ++member)
          if (concerns(from) || concerns(to))
            for_each_owner(from, to, member, [&](Rank owner, const Chunks& chunks) {
              send(owner, rank(to, member), steps() + place(from), combine_across(from), chunks);
            });
      if (!concerns(from)) continue;
      for_each_member(from, [&](Rank to) {
        const Chunks own = block(to);
        for_each_member(from, [&](Rank source) {
          send(source, to, steps() - 1, combine_within(from, source), own);
        });
      });
      for (std::size_t of = 0; of < groups(); ++of)
        if (of != from)
          for_each_collector(from, of, [&](Rank owner, const Chunks& chunks) {
            for_each_member(from, [&](Rank member) {
              send(member, owner, turn(from, of), combine_within(from, member), chunks);
            });
          });
    }
  }

  [[nodiscard]] std::size_t group_of(Rank rank) const {
    const auto at = std::ranges::find(skeleton().order, rank) - skeleton().order.begin();
    return index(std::ranges::upper_bound(skeleton().site_begins, at) -
                 skeleton().site_begins.begin() - 1);
  }

  void bcast() {
    const std::size_t home = group_of(skeleton().root);
    for (Rank owner = 0; owner < owners(home); ++owner)
      send(skeleton().root, rank(home, owner), 0, How::copy, owned(home, owner));
    for (std::size_t to = 0; to < groups(); ++to)
      if (to != home) cross(home, to, 1 + turn(home, to), How::copy);
    spread_all(skeleton().root);
  }

  void reduce() {
    const std::size_t home = group_of(skeleton().root);
    collect(0);
    for (std::size_t from = 0; from < groups(); ++from)
      if (from != home) cross(from, home, 1 + place(from), combine_across(from));
    for (Rank owner = 0; owner < owners(home); ++owner)
      send(rank(home, owner), skeleton().root, after(), How::copy, owned(home, owner));
  }

  Kind _kind;
  std::size_t _group; ///< of the rank whose transfers are emitted
};

class GroupExchange final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "group-exchange"; }
  [[nodiscard]] std::string_view source() const override {
    return "Kielmann et al.: MagPIe: MPI's Collective Communication Operations for Clustered Wide "
           "Area Systems";
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    using enum Kind;
    return kind == bcast || kind == reduce || kind == allreduce || kind == allgather ||
           kind == reduce_scatter;
  }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override { return ranks <= 512; }

  /// `degree` is the number of groups, `senders` the most owners in one, `parts` those of a block;
  /// of a vector, 1: weights_of_shares().
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override;
  [[nodiscard]] Skeleton build(const Problem& problem, const Parameters& parameters) const override;

  void check(const Skeleton& skeleton) const override {
    check_lists(skeleton, {"order", "site_begins", "senders", "delays"});
    check_groups(skeleton);
    if (skeleton.chunks > ChunkId{most_parts} * skeleton.ranks)
      throw std::invalid_argument("a skeleton is damaged: its groups have too many parts");
    if (!skeleton.delays.empty() && skeleton.delays.size() != index(skeleton.ranks))
      throw std::invalid_argument("a skeleton is damaged: some ranks have no delay");
  }

  void emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    Exchange(kind, skeleton, rank, sink).emit();
    sink.sort();
  }
};

Skeleton GroupExchange::build(const Problem& problem, const Parameters& parameters) const {
  const Collective& collective = problem.collective;
  Skeleton skeleton = begin(problem, parameters);
  auto groups = dendrogram(problem).cut(index(parameters.degree));
  add_groups(problem, parameters.senders, groups, skeleton);
  Rank most_owners = 1, most_members = 1, all_owners = 0;
  std::int64_t product = 1;
  for (std::size_t at = 0; at < groups.size(); ++at) {
    const Rank owners = skeleton.senders[at];
    most_owners = std::max(most_owners, owners);
    most_members = std::max(most_members, static_cast<Rank>(groups[at].size()));
    all_owners += owners;
    if (product * owners <= most_parts) product *= owners;
  }
  const ChunkId blocks = collective.blocks();
  std::int64_t parts = std::min(most_owners, most_parts);
  if (blocks == 1) parts = std::max(product, parts);
  if (blocks > 1 && parameters.parts > 0) parts = std::min(parameters.parts, most_parts);
  if (blocks == 1 && parameters.parts > 0) {
    skeleton.weights = weights_of_shares(skeleton.senders);
    parts = static_cast<std::int64_t>(skeleton.weights.size());
  }
  skeleton.chunks = blocks * parts;
  const std::int64_t messages =
      (2 * most_members + all_owners) * std::int64_t{skeleton.pipeline(collective.size).segments};
  skeleton.window = schedule::window_for(messages);
  if (const Step gap = gap_of_crossing(problem, groups, skeleton, 1); gap > 0)
    skeleton.delays.assign(index(skeleton.ranks), gap);
  return skeleton;
}

/// Returns in how many messages data, or a block, goes from one group to another: at least, as
/// there may be more between larger groups.
Size crossing_messages(const Problem& problem, const std::vector<std::vector<Rank>>& groups) {
  std::vector<std::size_t> sizes;
  for (const std::vector<Rank>& group : groups)
    sizes.push_back(group.size());
  std::ranges::sort(sizes);
  std::size_t messages = sizes.front();
  if (problem.collective.blocks() == 1 && sizes.size() > 1) messages *= sizes[1];
  return static_cast<Size>(std::min(messages, index(most_parts)));
}

/// Returns the largest segments that cut `size` bytes equally and of which each message of so many
/// is at most `eager`.
Size segment_of_eager(Size size, Size eager, Size messages) {
  const Size segments = std::max<Size>(1, (size + eager * messages - 1) / (eager * messages));
  return (size + segments - 1) / segments;
}

std::vector<Parameters> GroupExchange::candidates(const Problem& problem) const {
  const Kind kind = problem.collective.kind;
  const Size size = problem.collective.size, eager = message_size(problem);
  const Dendrogram tree = dendrogram(problem);
  std::vector<std::size_t> counts = tree.natural_counts();
  counts.resize(std::min(counts.size(), most_group_counts));
  // Two large groups have the most connections for what crosses.
  const Size window = problem.network.initial_window;
  if (window > 0 && size > window && tree.hosts() > 2 &&
      std::ranges::find(counts, std::size_t{2}) == counts.end())
    counts.push_back(2);
  // One rank per group is a flat tree, a linear allgather, or, for fewer ranks, a tree per rank.
  const bool straight = (kind == Kind::reduce_scatter && tree.hosts() > most_trees_per_rank) ||
                        (kind == Kind::allreduce && size <= eager);
  if (counts.empty() || (straight && tree.hosts() <= most_straight)) counts.push_back(tree.hosts());
  std::vector<Parameters> candidates;
  const auto add = [&](Parameters parameters, Size segment_size) {
    parameters.segment_size = segment_size < size ? segment_size : 0;
    if (std::ranges::find(candidates, parameters) == candidates.end())
      candidates.push_back(parameters);
  };
  for (const std::size_t count : counts) {
    const Parameters all{.degree = static_cast<std::int32_t>(count)};
    if (size <= longest_whole * eager) add(all, 0);
    add(all, segment_of_eager(size, eager, crossing_messages(problem, tree.cut(count))));
    for (const Size factor : {1, 4})
      if (factor * eager < size) add(all, factor * eager);
    if (count == index(problem.collective.ranks)) continue;
    if (problem.collective.blocks() == 1) {
      Parameters few = all;
      few.parts = 1;
      const auto groups = tree.cut(count);
      const auto least = std::ranges::min_element(groups, {}, &std::vector<Rank>::size)->size();
      if (size <= longest_whole * eager) add(few, 0);
      add(few, segment_of_eager(size, eager, static_cast<Size>(least)));
      add(few, eager);
    }
    Parameters one = all;
    (problem.collective.blocks() > 1 ? one.parts : one.senders) = 1;
    add(one, segment_of_eager(size, eager, 1));
  }
  return candidates;
}

} // namespace

const Algorithm& group_exchange() {
  static const GroupExchange algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
