#include "mapping/refine.hpp"

#include "mapping/guide.hpp"
#include "units/index.hpp"
#include "units/mix.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace thalweg::mapping {
namespace {

/// Numbers drawn from a seed, the same on every machine.
class Draw {
public:
  explicit Draw(std::uint64_t seed) : _state(seed) {}
  /// Returns a number from 0 to `count` - 1.
  std::size_t below(std::size_t count) {
    _state += mix_step;
    return static_cast<std::size_t>(mix(_state) % count);
  }

private:
  std::uint64_t _state;
};

/// Cells, as cells_of_a_move, for looking at a rank to swap with, whose row is elsewhere in memory.
constexpr std::size_t cells_of_a_partner = 8;
/// The same for a host or a root of a collective in an exact evaluation.
constexpr std::size_t cells_of_a_share = 8;

/// A change that may pay: a rank goes to a host, and if there is a partner, that one comes back.
struct Proposal {
  float gain = 0; ///< by the guide
  Rank partner = collective::no_rank;
  HostId to = no_host;
};

class Refinement {
public:
  Refinement(const Problem& problem, const HostCosts& costs, const Placement& start,
             const RefineOptions& options)
      : _problem(problem), _state(problem, costs, start), _guide(problem, costs, _state),
        _draw(options.seed), _moves(options.moves), _hosts(problem.network.hosts.size()),
        _members(_hosts), _place(start.size()), _gains(_hosts * _hosts), _is_queued(start.size()),
        _edge_of(start.size(), -1) {
    for (Rank rank = 0; rank < problem.ranks(); ++rank) {
      if (problem.pinned_to(rank) == no_host) _free.push_back(rank);
      _place[index(rank)] = members(rank).size();
      members(rank).push_back(rank);
    }
    refresh_gains();
  }

  Placement run() {
    for (const Rank rank : _free)
      enqueue(rank);
    descend();
    while (_moves > 0 && _free.size() > 1)
      kick();
    return _state.placement();
  }

private:
  std::vector<Rank>& members(Rank rank) { return _members[index(_state.host(rank))]; }
  [[nodiscard]] bool has_room(HostId host) const {
    return std::cmp_less(_members[index(host)].size(), _problem.slots[index(host)]);
  }
  [[nodiscard]] bool is_free(Rank rank) const { return _problem.pinned_to(rank) == no_host; }
  [[nodiscard]] double threshold() const { return 1e-9 * std::abs(_state.total()) + 1e-300; }
  float& gain(HostId from, HostId to) { return _gains[index(from) * _hosts + index(to)]; }

  void enqueue(Rank rank) {
    if (_is_queued[index(rank)] || !is_free(rank)) return;
    _is_queued[index(rank)] = 1;
    _queue.push_back(rank);
  }

  /// Raises the upper limits of what ranks of a rank's host gain elsewhere.
  void note_gains(Rank rank) {
    const HostId here = _state.host(rank);
    const float* const row = _guide.of(rank);
    const float base = row[index(here)];
    float* const limits = &gain(here, 0);
    for (std::size_t host = 0; host < _hosts; ++host)
      limits[host] = std::max(limits[host], base - row[host]);
  }

  void refresh_gains() {
    std::ranges::fill(_gains, -std::numeric_limits<float>::infinity());
    for (const Rank rank : _free)
      note_gains(rank);
    _applied = 0;
  }

  void apply(std::span<const Move> moves) {
    for (const Move& move : moves)
      _log.push_back({move.rank, _state.host(move.rank)});
    relocate(moves);
    for (const Move& move : moves) {
      note_gains(move.rank);
      enqueue(move.rank);
      for (const Communication::Peer& peer : _guide.peers(move.rank)) {
        note_gains(peer.rank);
        enqueue(peer.rank);
      }
    }
    if (++_applied * 4 > _free.size() + 16) renew();
  }

  /// Counts what tables take as if ranks had been looked at, which takes about as long: else ranks
  /// with very many peers would make a search take very long.
  void charge(std::size_t cells) {
    _cells += cells;
    _moves -= static_cast<std::int64_t>(_cells / cells_of_a_move);
    _cells %= cells_of_a_move;
  }

  void relocate(std::span<const Move> moves) {
    std::array<HostId, 4> from{};
    for (std::size_t at = 0; at < moves.size(); ++at)
      from[at] = _state.host(moves[at].rank);
    for (const Move& move : moves) {
      std::vector<Rank>& here = members(move.rank);
      const std::size_t place = _place[index(move.rank)];
      here[place] = here.back();
      _place[index(here[place])] = place;
      here.pop_back();
    }
    _state.apply(moves);
    for (std::size_t at = 0; at < moves.size(); ++at) {
      const Rank rank = moves[at].rank;
      _place[index(rank)] = members(rank).size();
      members(rank).push_back(rank);
      _guide.follow(rank, from[at], moves[at].to);
      charge(_guide.peers(rank).size() * _hosts + _guide.exchanges(rank) * cells_of_a_peer);
    }
    charge(cells_of_a_share * 2 * _state.effort(moves));
  }

  /// Forgets what has become imprecise: prices, and upper limits of gains.
  void renew() {
    ++_renewals;
    _since_rebuild += _applied;
    if (2 * _since_rebuild > _free.size()) {
      _since_rebuild = 0;
      _guide.rebuild(_state);
    }
    refresh_gains();
  }

  void descend() {
    for (std::size_t at = 0; at < _queue.size(); ++at) {
      const Rank rank = _queue[at];
      _is_queued[index(rank)] = 0;
      if (_moves > 0) improve(rank);
    }
    _queue.clear();
  }

  /// Carries out the best change of those that the guide finds most promising.
  void improve(Rank rank) {
    --_moves;
    for (const Proposal& proposal : proposals(rank)) {
      if (proposal.to == no_host || _moves <= 0) return;
      --_moves;
      const std::array<Move, 2> moves{{{rank, proposal.to}, {proposal.partner, _state.host(rank)}}};
      const auto change = std::span(moves).first(proposal.partner == collective::no_rank ? 1 : 2);
      for (const Move& move : change)
        charge(cells_of_a_peer * _guide.exchanges(move.rank));
      charge(cells_of_a_share * _state.effort(change));
      if (_state.change(change) < -threshold()) {
        apply(change);
        enqueue(rank);
        return;
      }
    }
  }

  std::array<Proposal, 3> proposals(Rank rank) {
    const HostId here = _state.host(rank);
    const float* const row = _guide.of(rank);
    const float base = row[index(here)];
    std::array<Proposal, 3> best{};
    const auto least = static_cast<float>(threshold());
    for (Proposal& each : best)
      each.gain = least;
    const auto propose = [&](const Proposal& proposal) {
      if (!(proposal.gain > best.back().gain)) return;
      best.back() = proposal;
      for (std::size_t at = best.size() - 1; at > 0 && best[at].gain > best[at - 1].gain; --at)
        std::swap(best[at], best[at - 1]);
    };
    bool marked = false;
    for (HostId there = 0; std::cmp_less(there, _hosts); ++there) {
      if (there == here || _problem.slots[index(there)] == 0) continue;
      const float gained = base - row[index(there)];
      if (has_room(there)) propose({gained, collective::no_rank, there});
      if (!(gained + gain(there, here) > best.back().gain)) continue;
      if (!marked) marked = mark(rank);
      charge(cells_of_a_partner * _members[index(there)].size());
      for (const Rank other : _members[index(there)]) {
        const float* const theirs = _guide.of(other);
        float both = gained + theirs[index(there)] - theirs[index(here)];
        if (!(both > best.back().gain) || !is_free(other)) continue;
        // Each was counted as if the other one stayed.
        if (const std::int32_t edge = _edge_of[index(other)]; edge >= 0)
          both -= _guide.between(rank, _guide.peers(rank)[index(edge)], here, there) +
                  _guide.between(rank, _guide.peers(rank)[index(edge)], there, here);
        propose({both, other, there});
      }
    }
    if (marked)
      for (const Communication::Peer& peer : _guide.peers(rank))
        _edge_of[index(peer.rank)] = -1;
    return best;
  }

  bool mark(Rank rank) {
    const auto peers = _guide.peers(rank);
    for (std::size_t at = peers.size(); at-- > 0;)
      _edge_of[index(peers[at].rank)] = static_cast<std::int32_t>(at);
    return true;
  }

  /// Moves two or three ranks in a cycle, however it changes the cost, lets swaps and moves follow,
  /// and takes all of it back unless it pays.
  void kick() {
    const double before = _state.total();
    const std::size_t renewals = _renewals;
    _log.clear();
    --_moves;
    const Rank first = _free[_draw.below(_free.size())];
    const HostId here = _state.host(first);
    const HostId there = near_a_peer(first);
    if (there == no_host) return;
    const Rank second = resident(there);
    if (second == collective::no_rank) {
      if (!has_room(there)) return;
      apply(std::array<Move, 1>{{{first, there}}});
    } else {
      const HostId onward = _draw.below(2) == 0 ? here : near_a_peer(second);
      const Rank third =
          onward == here || onward == no_host ? collective::no_rank : resident(onward);
      if (third == collective::no_rank)
        apply(std::array<Move, 2>{{{first, there}, {second, here}}});
      else
        apply(std::array<Move, 3>{{{first, there}, {second, onward}, {third, here}}});
    }
    descend();
    if (_state.total() < before - threshold()) return;
    take_back(renewals);
  }

  void take_back(std::size_t renewals) {
    for (std::size_t at = _log.size(); at-- > 0;)
      relocate(std::array<Move, 1>{_log[at]});
    _log.clear();
    if (_renewals != renewals) refresh_gains(); // else upper limits are valid as before the kick
  }

  /// Draws another host on which a peer of the rank runs, now and then any host.
  HostId near_a_peer(Rank rank) {
    const HostId here = _state.host(rank);
    const auto peers = _guide.peers(rank);
    if (!peers.empty() && _draw.below(8) != 0) {
      const HostId host = _state.host(peers[_draw.below(peers.size())].rank);
      if (host != here) return host;
    }
    const auto any = static_cast<HostId>(_draw.below(_hosts));
    return any == here || _problem.slots[index(any)] == 0 ? no_host : any;
  }

  /// Draws a rank of the host that may leave.
  Rank resident(HostId host) {
    const std::vector<Rank>& here = _members[index(host)];
    if (here.empty()) return collective::no_rank;
    const Rank rank = here[_draw.below(here.size())];
    return is_free(rank) ? rank : collective::no_rank;
  }

  const Problem& _problem;
  State _state;
  Guide _guide;
  Draw _draw;
  std::int64_t _moves;
  std::size_t _hosts;
  std::vector<std::vector<Rank>> _members; ///< by host
  std::vector<std::size_t> _place;         ///< by rank, in its host's members
  std::vector<float>
      _gains; ///< by two hosts: no rank of the first gains more by going to the other
  std::vector<char> _is_queued;
  std::vector<Rank> _queue;
  std::vector<std::int32_t> _edge_of; ///< by rank: its place among the peers of one; else -1
  std::vector<Rank> _free;            ///< ranks that aren't pinned
  std::vector<Move> _log;             ///< ranks that moved since the last kick, and from where
  std::size_t _cells = 0;             ///< not charged yet
  std::size_t _applied = 0, _since_rebuild = 0, _renewals = 0;
};

} // namespace

Placement refine(const Problem& problem, const HostCosts& costs, const Placement& start,
                 const RefineOptions& options) {
  if (problem.ranks() < 2 || problem.network.size() < 2) return start;
  return Refinement(problem, costs, start, options).run();
}

} // namespace thalweg::mapping
