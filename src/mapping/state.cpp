#include "mapping/state.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::mapping {
namespace {

/// What is left of a sum after more than the rest of it has gone is mostly rounding errors.
constexpr double least_certain = 1e-4;

} // namespace

State::State(const Problem& problem, const HostCosts& costs, Placement placement)
    : _problem(&problem), _costs(&costs), _placement(std::move(placement)),
      _collectives(problem, _placement), _loads(costs.resources()), _change_of(costs.resources()),
      _is_changed(costs.resources()), _target(_placement.size(), no_host) {
  recompute();
}

void State::recompute() {
  double pairs = 0;
  std::ranges::fill(_loads, 0.0);
  const bool limited = _costs->has_limits();
  Rank moved = 0;
  for (Rank rank = 0; rank < _problem->ranks(); ++rank) {
    const HostId here = host(rank);
    if (!_problem->previous.empty() && _problem->previous[index(rank)] != here) ++moved;
    for (const Communication::Peer& peer : _problem->communication.peers(rank)) {
      const HostId there = host(peer.rank);
      if (there == here) continue;
      const HostCosts::Pair& pair = (*_costs)(here, there);
      pairs += peer.sent_messages * pair.message + peer.sent_bytes * pair.byte;
      if (limited && peer.sent_bytes > 0)
        _costs->for_each_resource(here, there, [&](std::size_t resource) {
          _loads[resource] += peer.sent_bytes * _costs->per_byte(resource);
        });
    }
  }
  _terms = 0;
  for (const double load : _loads)
    _terms += load_term(load);
  const double share = 1.0 / static_cast<double>(_problem->ranks());
  _cost = {Time(pairs), Time(load_norm(_terms)), Time(_collectives.total()),
           _problem->migration * (static_cast<double>(moved) * share)};
}

double State::change(std::span<const Move> moves) {
  const Cost after = evaluate(moves);
  forget_changes();
  return (after.total() - _cost.total()).value();
}

void State::apply(std::span<const Move> moves) {
  const double before = _terms;
  _cost = evaluate(moves);
  for (const std::size_t resource : _changed) {
    const double load = _loads[resource];
    _loads[resource] = std::max(0.0, load + _change_of[resource]);
    _terms += load_term(_loads[resource]) - load_term(load);
  }
  forget_changes();
  _collectives.apply(moves, _placement);
  for (const Move& move : moves)
    _placement[index(move.rank)] = move.to;
  if (_terms < least_certain * before) recompute();
}

Cost State::evaluate(std::span<const Move> moves) {
  for (const Move& move : moves)
    _target[index(move.rank)] = move.to;
  _pairs = 0;
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
      count(peer, before, there, -1);
      count(peer, move.to, target == no_host ? there : target, 1);
    }
  }
  for (const Move& move : moves)
    _target[index(move.rank)] = no_host;
  const double share = 1.0 / static_cast<double>(_problem->ranks());
  Cost after = _cost;
  after.pairs += Time(_pairs);
  if (!_changed.empty()) after.load = Time(moved_load());
  after.collectives += Time(_collectives.change(moves, _placement));
  after.migration += _problem->migration * (migration * share);
  return after;
}

/// Adds what a rank here and its peer there send each other.
void State::count(const Communication::Peer& peer, HostId here, HostId there, double sign) {
  if (here == there) return;
  _pairs += sign * _costs->between(peer, here, there);
  if (!_costs->has_limits()) return;
  count_load(here, there, sign * peer.sent_bytes);
  count_load(there, here, sign * peer.received_bytes);
}

void State::count_load(HostId from, HostId to, double bytes) {
  if (bytes == 0) return;
  _costs->for_each_resource(from, to, [&](std::size_t resource) {
    if (!std::exchange(_is_changed[resource], 1)) _changed.push_back(resource);
    _change_of[resource] += bytes * _costs->per_byte(resource);
  });
}

void State::forget_changes() {
  for (const std::size_t resource : _changed) {
    _change_of[resource] = 0;
    _is_changed[resource] = 0;
  }
  _changed.clear();
}

double State::moved_load() const {
  double terms = _terms;
  for (const std::size_t resource : _changed) {
    const double load = _loads[resource];
    terms += load_term(std::max(0.0, load + _change_of[resource])) - load_term(load);
  }
  if (terms < least_certain * _terms) {
    terms = 0;
    for (std::size_t resource = 0; resource < _loads.size(); ++resource)
      terms += load_term(std::max(0.0, _loads[resource] + _change_of[resource]));
  }
  return load_norm(terms);
}

double State::price(HostId from, HostId to) const {
  const double norm = load_norm(_terms);
  if (norm <= 0 || from == to) return 0;
  double price = 0;
  _costs->for_each_resource(from, to, [&](std::size_t resource) {
    const double share = _loads[resource] / norm, cubed = share * share * share;
    price += cubed * cubed * share * _costs->per_byte(resource);
  });
  return price;
}

} // namespace thalweg::mapping
