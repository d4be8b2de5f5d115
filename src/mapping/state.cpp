#include "mapping/state.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace thalweg::mapping {

State::State(const Problem& problem, const HostCosts& costs, Placement placement)
    : _problem(&problem), _costs(&costs), _placement(std::move(placement)),
      _collectives(problem, _placement, costs.tables()),
      _mean(std::pow(static_cast<double>(problem.ranks()), -1.0 / wait_exponent) /
            problem.group_size),
      _waits(problem.communication.phases(), Norm(_placement.size(), wait_exponent)),
      _loads(costs.resources(), load_exponent), _target(_placement.size(), no_host) {
  recompute();
}

void State::recompute() {
  for (Norm& phase : _waits)
    phase.clear();
  _loads.clear();
  Rank moved = 0;
  for (Rank rank = 0; rank < _problem->ranks(); ++rank) {
    const HostId here = host(rank);
    if (!_problem->previous.empty() && _problem->previous[index(rank)] != here) ++moved;
    for (const Communication::Peer& peer : _problem->communication.peers(rank))
      if (peer.rank > rank) count(rank, peer, here, host(peer.rank), 1);
  }
  double waits = 0;
  for (Norm& phase : _waits) {
    phase.keep();
    waits += phase.kept();
  }
  _loads.keep();
  const double share = 1.0 / static_cast<double>(_problem->ranks());
  _cost = {Time(_mean * waits), Time(_loads.kept()), Time(_collectives.total()),
           _problem->migration * (static_cast<double>(moved) * share)};
}

double State::change(std::span<const Move> moves) {
  const Cost after = evaluate(moves);
  for (Norm& phase : _waits)
    phase.forget();
  _loads.forget();
  return (after.total() - _cost.total()).value();
}

void State::apply(std::span<const Move> moves) {
  _cost = evaluate(moves);
  for (Norm& phase : _waits)
    phase.keep();
  _loads.keep();
  _collectives.apply(moves, _placement);
  for (const Move& move : moves)
    _placement[index(move.rank)] = move.to;
  if (_loads.is_uncertain() || std::ranges::any_of(_waits, &Norm::is_uncertain)) recompute();
}

Cost State::evaluate(std::span<const Move> moves) {
  for (const Move& move : moves)
    _target[index(move.rank)] = move.to;
  double migration = 0;
  for (const Move& move : moves) {
    const HostId before = host(move.rank);
    if (!_problem->previous.empty()) {
      const HostId previous = _problem->previous[index(move.rank)];
      migration +=
          static_cast<double>(move.to != previous) - static_cast<double>(before != previous);
    }
    for (const Communication::Peer& peer : _problem->communication.peers(move.rank)) {
      const HostId target = _target[index(peer.rank)];
      if (target != no_host && peer.rank < move.rank) continue; // counted from its side
      const HostId there = host(peer.rank);
      count(move.rank, peer, before, there, -1);
      count(move.rank, peer, move.to, target == no_host ? there : target, 1);
    }
  }
  for (const Move& move : moves)
    _target[index(move.rank)] = no_host;
  const double share = 1.0 / static_cast<double>(_problem->ranks());
  double waits = 0;
  for (const Norm& phase : _waits)
    waits += phase.changed();
  Cost after = _cost;
  after.pairs = Time(_mean * waits);
  after.load = Time(_loads.changed());
  after.collectives += Time(_collectives.change(moves, _placement));
  after.migration += _problem->migration * (migration * share);
  return after;
}

void State::count(Rank rank, const Communication::Peer& peer, HostId here, HostId there,
                  double sign) {
  if (here == there) return;
  const HostCosts::Pair out = (*_costs)(here, there), back = (*_costs)(there, here);
  for (const Communication::PhaseExchange& each : _problem->communication.by_phase(peer)) {
    Norm& waits = _waits[index(each.phase)];
    waits.add(index(peer.rank),
              sign * (each.sent_messages * out.message + each.sent_bytes * out.byte));
    waits.add(index(rank),
              sign * (each.received_messages * back.message + each.received_bytes * back.byte));
  }
  if (!_costs->has_limits()) return;
  count_load(here, there, sign * peer.sent_bytes);
  count_load(there, here, sign * peer.received_bytes);
}

void State::count_load(HostId from, HostId to, double bytes) {
  if (bytes == 0) return;
  _costs->for_each_resource(from, to, [&](std::size_t resource) {
    _loads.add(resource, bytes * _costs->per_byte(resource));
  });
}

double State::weight(Rank rank, std::size_t phase) const {
  const double alike = 1.0 / (static_cast<double>(_problem->ranks()) * _problem->group_size);
  return std::max(alike, _mean * _waits[phase].slope(index(rank)));
}

std::vector<double> State::prices() const {
  std::vector<double> prices(_costs->resources());
  for (std::size_t resource = 0; resource < prices.size(); ++resource)
    prices[resource] = _loads.slope(resource) * _costs->per_byte(resource);
  return prices;
}

} // namespace thalweg::mapping
