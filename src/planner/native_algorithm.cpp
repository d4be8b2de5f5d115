/// Source of the levels: MPICH 4.0 and 5.0, maint/tuning/coll/ch4/generic.json and ch4_coll_impl.h
/// (compositions); MPICH2 1.4, src/mpi/coll, whose rules (MPIR_SMP_Bcast and the like) those
/// follow; Open MPI 5.0, ompi/mca/coll/han. Open MPI 4.1 goes by no hosts.
#include "planner/native_algorithm.hpp"

#include "algorithms/trees/tree.hpp"
#include "algorithms/used_hosts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace thalweg::planner {

namespace {

using algorithms::DeclaredTree;
using collective::Collective;
using collective::Kind;
using collective::Rank;
using network::Placement;

constexpr Size kib = 1024;
/// The size of the pieces in which han passes a message on.
constexpr Size han_segment = 64 * kib;

/// The ranks of a problem by their hosts.
class Hosts {
public:
  explicit Hosts(const Problem& problem)
      : _placement(problem.placement), _used(problem.network, problem.placement) {}

  /// Whether there are several hosts, one of which has several ranks.
  [[nodiscard]] bool are_shared() const {
    return ranks().size() > 1 && ranks().size() < _placement.size();
  }
  [[nodiscard]] bool have_equally_many() const {
    return std::ranges::all_of(
        ranks(), [&](const auto& each) { return each.size() == ranks().front().size(); });
  }
  [[nodiscard]] bool have_adjacent_ranks() const {
    return std::ranges::all_of(ranks(), [](const auto& each) {
      return each.back() - each.front() + 1 == static_cast<Rank>(each.size());
    });
  }
  [[nodiscard]] Rank count() const { return _used.size(); }
  [[nodiscard]] Rank most_ranks() const { return static_cast<Rank>(fullest().size()); }
  /// The host of the rank, by the order of the hosts' first ranks.
  [[nodiscard]] Rank host_of(Rank rank) const {
    return _used.number[index(_placement[index(rank)])];
  }
  /// By host, its ranks.
  [[nodiscard]] const std::vector<std::vector<Rank>>& ranks() const { return _used.ranks; }
  [[nodiscard]] Placement placement(Level level) const;

private:
  [[nodiscard]] const std::vector<Rank>& fullest() const {
    return *std::ranges::max_element(ranks(), {}, [](const auto& each) { return each.size(); });
  }

  const Placement& _placement;
  algorithms::UsedHosts _used;
};

Placement Hosts::placement(Level level) const {
  if (level == Level::all) return _placement;
  if (level == Level::between_hosts) return _used.hosts;
  Placement placement;
  for (const Rank rank : fullest())
    placement.push_back(_placement[index(rank)]);
  return placement;
}

/// Open MPI's binomial tree of a bcast: the parent of a rank lacks the highest bit of its distance
/// from the root, and sends to all of its children at once.
/// Source: Open MPI, coll_base_topo.c, ompi_coll_base_topo_build_bmtree.
DeclaredTree highest_bit_tree(const Collective& bcast) {
  DeclaredTree tree{{}, std::vector<Rank>(index(bcast.ranks), collective::no_rank)};
  const auto rank = [&](Rank distance) { return (bcast.root + distance) % bcast.ranks; };
  for (Rank distance = 0; distance < bcast.ranks; ++distance) {
    tree.order.push_back(rank(distance));
    const auto bits = static_cast<std::uint32_t>(distance);
    if (distance > 0)
      tree.parents[index(rank(distance))] =
          rank(distance ^ static_cast<Rank>(std::bit_floor(bits)));
  }
  return tree;
}

/// Writes down the phases of one collective.
class Composer {
public:
  Composer(const Problem& problem, const Hosts& hosts, std::string_view selection)
      : _whole(problem.collective), _hosts(hosts), _selection(selection) {}

  /// A collective of all ranks as it is.
  Composer& all() { return selected(Level::all, _whole); }
  /// A collective of some; `size` as Collective::size.
  Composer& within(Kind kind, Size size) { return some(Level::within_hosts, kind, size); }
  Composer& between(Kind kind, Size size) { return some(Level::between_hosts, kind, size); }
  Composer& add(Level level, const Collective& collective, Choice choice, std::string name = {}) {
    _phases.push_back(
        {level, collective, _hosts.placement(level), std::move(choice), std::move(name)});
    return *this;
  }
  std::vector<Phase> take() { return std::move(_phases); }

private:
  Composer& some(Level level, Kind kind, Size size) {
    const bool within = level == Level::within_hosts;
    Collective part{
        .kind = kind, .ranks = within ? _hosts.most_ranks() : _hosts.count(), .size = size};
    if (!within && collective::is_rooted(kind)) part.root = _hosts.host_of(_whole.root);
    return selected(level, part);
  }
  Composer& selected(Level level, const Collective& part) {
    Choice choice = select(_selection, part);
    const bool is_open_mpi = _selection.starts_with("openmpi");
    if (!is_open_mpi || choice.algorithm != "binomial") return add(level, part, std::move(choice));
    if (part.kind == Kind::allreduce) return reduced_and_sent(level, part, Kind::bcast);
    if (part.kind == Kind::reduce_scatter) return reduced_and_sent(level, part, Kind::scatter);
    if (part.kind != Kind::bcast) return add(level, part, std::move(choice));
    return add(level, part, {"tree", {.tree = highest_bit_tree(part)}}, "binomial");
  }
  /// What Open MPI calls nonoverlapping, or with equal blocks basic linear: its own reduce of all
  /// data to rank 0, and its own bcast, scatter or scatterv from there.
  /// Source: Open MPI, coll_base_allreduce.c, ompi_coll_base_allreduce_intra_nonoverlapping;
  /// coll_base_reduce_scatter.c, ompi_coll_base_reduce_scatter_intra_nonoverlapping;
  /// coll_base_reduce_scatter_block.c, ompi_coll_base_reduce_scatter_block_basic_linear.
  Composer& reduced_and_sent(Level level, const Collective& whole, Kind sent) {
    const Collective reduce{.kind = Kind::reduce, .ranks = whole.ranks, .size = whole.total()};
    Collective sending = whole;
    sending.kind = sent;
    for (const Collective& part : {reduce, sending}) {
      selected(level, part);
      Phase& phase = _phases.back();
      const std::string& name = phase.name.empty() ? phase.choice.algorithm : phase.name;
      phase.name = std::string(collective::to_text(part.kind)) + " by " + name;
    }
    return *this;
  }

  const Collective& _whole;
  const Hosts& _hosts;
  std::string_view _selection;
  std::vector<Phase> _phases;
};

using Compose = std::vector<Phase> (*)(const Collective&, const Hosts&, Composer);

std::vector<Phase> compose_flat(const Collective& /*whole*/, const Hosts& /*hosts*/,
                                Composer phases) {
  return phases.all().take();
}

std::vector<Phase> compose_mpich(const Collective& whole, const Hosts& hosts, Composer phases) {
  const Size size = whole.size;
  if (!hosts.are_shared()) return phases.all().take();
  switch (whole.kind) {
  case Kind::bcast: {
    const bool power_of_two = std::has_single_bit(static_cast<std::uint32_t>(whole.ranks));
    const bool flat = whole.ranks >= 8 && size >= (power_of_two ? 512 * kib : 12 * kib);
    if (flat) return phases.all().take();
    return phases.between(Kind::bcast, size).within(Kind::bcast, size).take();
  }
  case Kind::reduce:
    return phases.within(Kind::reduce, size).between(Kind::reduce, size).take();
  case Kind::allreduce:
    return phases.within(Kind::reduce, size)
        .between(Kind::allreduce, size)
        .within(Kind::bcast, size)
        .take();
  case Kind::barrier:
    return phases.within(Kind::barrier, 0).between(Kind::barrier, 0).within(Kind::bcast, 1).take();
  case Kind::scan:
    if (!hosts.have_adjacent_ranks()) return phases.all().take();
    return phases.within(Kind::scan, size)
        .between(Kind::scan, size)
        .within(Kind::bcast, size)
        .take();
  case Kind::gather:
  case Kind::scatter:
  case Kind::allgather:
  case Kind::alltoall:
  case Kind::reduce_scatter:
  case Kind::exscan:
    break;
  }
  return phases.all().take();
}

/// A binomial tree of the leaders, each of which serves its host by one.
DeclaredTree two_level_tree(const Hosts& hosts, Rank root) {
  const std::vector<std::vector<Rank>>& ranks = hosts.ranks();
  const Rank first = hosts.host_of(root);
  std::vector<Rank> leaders;
  for (Rank i = 0; i < hosts.count(); ++i)
    leaders.push_back(ranks[index((first + i) % hosts.count())].front());
  leaders.front() = root;
  DeclaredTree tree{{root}, {}};
  const auto all =
      std::accumulate(ranks.begin(), ranks.end(), std::size_t{0},
                      [](std::size_t sum, const auto& each) { return sum + each.size(); });
  tree.parents.assign(all, collective::no_rank);
  algorithms::join_binomially(leaders, tree.order, tree.parents);
  for (const Rank leader : leaders) {
    std::vector<Rank> group = ranks[index(hosts.host_of(leader))];
    std::iter_swap(group.begin(), std::ranges::find(group, leader));
    algorithms::join_binomially(group, tree.order, tree.parents);
  }
  return tree;
}

/// Open MPI 5, whose han steps back where hosts have different numbers of ranks.
std::vector<Phase> compose_han(const Collective& whole, const Hosts& hosts, Composer phases) {
  const Size size = whole.size;
  if (!hosts.are_shared() || !hosts.have_equally_many() || !whole.block_sizes.empty())
    return phases.all().take();
  const auto of_host = [&] { return size * hosts.most_ranks(); };
  switch (whole.kind) {
  case Kind::bcast:
  case Kind::reduce:
  case Kind::allreduce: {
    Parameters parameters;
    parameters.tree = two_level_tree(hosts, whole.root);
    parameters.segment_size = size > han_segment ? han_segment : 0;
    return phases.add(Level::all, whole, {"tree", parameters}, "two-level tree").take();
  }
  case Kind::gather:
    return phases.within(Kind::gather, size).between(Kind::gather, of_host()).take();
  case Kind::scatter:
    return phases.between(Kind::scatter, of_host()).within(Kind::scatter, size).take();
  case Kind::allgather:
    return phases.within(Kind::gather, size)
        .between(Kind::allgather, of_host())
        .within(Kind::bcast, size * whole.ranks)
        .take();
  case Kind::barrier:
    return phases.within(Kind::barrier, 0).between(Kind::barrier, 0).within(Kind::bcast, 1).take();
  case Kind::alltoall:
  case Kind::reduce_scatter:
  case Kind::scan:
  case Kind::exscan:
    break;
  }
  return phases.all().take();
}

struct Rules {
  std::string_view name, selection;
  Compose compose;
};
constexpr Rules mpich{"mpich", "mpich", compose_mpich};
constexpr Rules mpich_1_4{"mpich-1.4", "mpich-1.4", compose_mpich};
constexpr Rules openmpi_4{"openmpi-4.1", "openmpi-4.1", compose_flat};
constexpr Rules openmpi_5{"openmpi-5.0", "openmpi-4.1", compose_han};

std::vector<Rules> rules_of(std::string_view library) {
  if (library == mpich_1_4.name) return {mpich_1_4};
  if (library.starts_with("mpich")) return {mpich};
  if (library.starts_with("openmpi-4")) return {openmpi_4};
  if (library.starts_with("openmpi-5")) return {openmpi_5};
  if (library.starts_with("openmpi")) return {openmpi_4, openmpi_5};
  return {mpich, openmpi_4, openmpi_5};
}

bool is_same(const Phase& a, const Phase& b) {
  return a.level == b.level && a.collective.kind == b.collective.kind && a.choice == b.choice;
}

constexpr std::array<std::string_view, 3> level_names{"", " within hosts", " between hosts"};

} // namespace

std::string to_text(const NativeAlgorithm& algorithm) {
  std::string text;
  for (const Phase& phase : algorithm.phases) {
    text += text.empty() ? algorithm.library + ": " : ", ";
    text += phase.name.empty() ? phase.choice.algorithm : phase.name;
    text += level_names[static_cast<std::size_t>(phase.level)];
  }
  return text;
}

std::vector<NativeAlgorithm> native_algorithms(const Problem& problem, std::string_view library) {
  const Hosts hosts(problem);
  std::vector<NativeAlgorithm> found;
  for (const Rules& rules : rules_of(library)) {
    std::vector<Phase> phases =
        rules.compose(problem.collective, hosts, Composer(problem, hosts, rules.selection));
    const auto same = [&](const NativeAlgorithm& other) {
      return std::ranges::equal(other.phases, phases, is_same);
    };
    if (std::ranges::none_of(found, same))
      found.push_back({std::string(rules.name), std::move(phases)});
  }
  return found;
}

Choice native_choice(const Problem& problem, std::string_view library) {
  const Hosts hosts(problem);
  const Rules rules = rules_of(library).front();
  const std::vector<Phase> phases = Composer(problem, hosts, rules.selection).all().take();
  return phases.size() == 1 ? phases.front().choice : select(rules.selection, problem.collective);
}

} // namespace thalweg::planner
