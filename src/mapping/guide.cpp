#include "mapping/guide.hpp"

#include "units/index.hpp"

#include <map>
#include <utility>

namespace thalweg::mapping {
namespace {

/// Numbers that are added at a time.
constexpr std::size_t lanes = 8;

/// Messages and bytes of all calls by the same ranks.
struct Total {
  double messages = 0, bytes = 0;
};

/// Adds messages to those of the program, between members whose places in the communicator differ
/// by powers of two, as in the rounds of most algorithms.
void add_rounds(const std::vector<Rank>& members, const Total& total,
                std::vector<Traffic>& entries) {
  const auto count = static_cast<Rank>(members.size());
  for (Rank distance = 1; distance < count; distance *= 2)
    for (Rank at = 0; at < count; ++at)
      entries.push_back({members[index(at)], members[index((at + distance) % count)],
                         total.messages, total.bytes / distance});
}

/// Calls of all ranks are left out: it hardly matters which of them is where.
Communication with_calls(const Problem& problem) {
  std::map<std::vector<Rank>, Total> totals;
  for (const Call& call : problem.calls) {
    if (call.members.size() < 2 || std::cmp_greater_equal(call.members.size(), problem.ranks()))
      continue;
    Total& total = totals[call.members];
    total.messages += call.count;
    total.bytes += call.count * static_cast<double>(call.size);
  }
  if (totals.empty()) return problem.communication;
  std::vector<Traffic> entries = problem.communication.entries();
  for (const auto& [members, total] : totals)
    add_rounds(members, total, entries);
  return {problem.ranks(), std::move(entries)};
}

} // namespace

Guide::Guide(const Problem& problem, const HostCosts& costs, const State& state)
    : _problem(&problem), _costs(&costs), _communication(with_calls(problem)),
      _hosts(problem.network.hosts.size()), _width((_hosts + lanes - 1) / lanes * lanes),
      _table(index(problem.ranks()) * _width), _message_to(_hosts * _width),
      _message_from(_hosts * _width), _byte_to(_hosts * _width), _byte_from(_hosts * _width) {
  const auto hosts = static_cast<HostId>(_hosts);
  for (HostId first = 0; first < hosts; ++first)
    for (HostId second = 0; second < hosts; ++second) {
      const HostCosts::Pair to = costs(second, first);
      const HostCosts::Pair from = costs(first, second);
      const std::size_t at = index(first) * _width + index(second);
      _message_to[at] = static_cast<float>(to.message);
      _message_from[at] = static_cast<float>(from.message);
      _byte_to[at] = static_cast<float>(to.byte);
      _byte_from[at] = static_cast<float>(from.byte);
    }
  if (costs.has_limits()) {
    _load_to.resize(_byte_to.size());
    _load_from.resize(_byte_to.size());
  }
  rebuild(state);
}

void Guide::rebuild(const State& state) {
  if (!_load_to.empty()) rebuild_prices(state);
  _weight.clear();
  for (std::size_t phase = 0; phase < _problem->communication.phases(); ++phase)
    for (Rank rank = 0; rank < _problem->ranks(); ++rank)
      _weight.push_back(static_cast<float>(state.weight(rank, phase)));
  const auto away = static_cast<float>(_problem->migration.value() / _problem->ranks());
  for (Rank rank = 0; rank < _problem->ranks(); ++rank) {
    float* const row = &_table[at(rank)];
    std::fill_n(row, _width, _problem->previous.empty() ? 0 : away);
    if (!_problem->previous.empty()) row[index(_problem->previous[index(rank)])] = 0;
    for (const Communication::Peer& peer : peers(rank))
      add(row, weights(rank, peer), state.host(peer.rank), 1);
  }
}

void Guide::rebuild_prices(const State& state) {
  const auto hosts = static_cast<HostId>(_hosts);
  const std::vector<double> prices = state.prices();
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to) {
      if (from == to) continue;
      double price = 0;
      _costs->for_each_resource(from, to, [&](std::size_t resource) { price += prices[resource]; });
      _load_from[index(from) * _width + index(to)] = static_cast<float>(price);
      _load_to[index(to) * _width + index(from)] = static_cast<float>(price);
    }
}

void Guide::follow(Rank rank, HostId from, HostId to) {
  for (const Communication::Peer& peer : peers(rank)) {
    // The peer's own view: what it sends is what this one receives.
    const Weights own = weights(rank, peer);
    const Weights theirs{own.message_from, own.byte_from, own.message_to,
                         own.byte_to,      own.load_from, own.load_to};
    float* const row = &_table[at(peer.rank)];
    add(row, theirs, from, -1);
    add(row, theirs, to, 1);
  }
}

float Guide::between(Rank rank, const Communication::Peer& peer, HostId here, HostId there) const {
  const std::size_t at = index(there) * _width + index(here);
  const Weights w = weights(rank, peer);
  const float waits = w.message_to * _message_to[at] + w.byte_to * _byte_to[at] +
                      w.message_from * _message_from[at] + w.byte_from * _byte_from[at];
  if (_load_to.empty()) return waits;
  return waits + w.load_to * _load_to[at] + w.load_from * _load_from[at];
}

Guide::Weights Guide::weights(Rank rank, const Communication::Peer& peer) const {
  const std::size_t ranks = index(_problem->ranks());
  Weights sums{.load_to = static_cast<float>(peer.sent_bytes),
               .load_from = static_cast<float>(peer.received_bytes)};
  for (const Communication::PhaseExchange& each : _communication.by_phase(peer)) {
    const float own = _weight[index(each.phase) * ranks + index(rank)];
    const float theirs = _weight[index(each.phase) * ranks + index(peer.rank)];
    sums.message_to += theirs * static_cast<float>(each.sent_messages);
    sums.byte_to += theirs * static_cast<float>(each.sent_bytes);
    sums.message_from += own * static_cast<float>(each.received_messages);
    sums.byte_from += own * static_cast<float>(each.received_bytes);
  }
  return sums;
}

void Guide::add(float* row, const Weights& weights, HostId there, float factor) const {
  const std::size_t begin = index(there) * _width;
  const auto add_all = [&](const auto& add_at) {
    for (std::size_t first = 0; first < _width; first += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) // a fixed number, for the compiler
        add_at(row[first + lane], begin + first + lane);
  };
  const Weights w = weights;
  const float *message_to = _message_to.data(), *message_from = _message_from.data();
  const float *byte_to = _byte_to.data(), *byte_from = _byte_from.data();
  const auto waits = [&](std::size_t at) {
    return w.message_to * message_to[at] + w.byte_to * byte_to[at] +
           w.message_from * message_from[at] + w.byte_from * byte_from[at];
  };
  if (_load_to.empty()) {
    add_all([&](float& sum, std::size_t at) { sum += factor * waits(at); });
    return;
  }
  const float *load_to = _load_to.data(), *load_from = _load_from.data();
  add_all([&](float& sum, std::size_t at) {
    sum += factor * waits(at);
    sum += factor * (w.load_to * load_to[at] + w.load_from * load_from[at]);
  });
}

} // namespace thalweg::mapping
