#include "mapping/guide.hpp"

#include "units/index.hpp"

#include <bit>
#include <numeric>
#include <utility>

namespace thalweg::mapping {
namespace {

/// Numbers that are added at a time.
constexpr std::size_t lanes = 8;

/// Adds a call's messages to those of the program, between members whose places in the communicator
/// differ by powers of two, as in the rounds of most algorithms.
void add_rounds(const Call& call, Rank ranks, std::vector<Traffic>& entries) {
  std::vector<Rank> members = call.members;
  if (members.empty()) return; // of all ranks: it hardly matters which is where
  const auto count = static_cast<Rank>(members.size());
  if (count < 2 || count > ranks) return;
  const double messages = call.count, bytes = call.count * static_cast<double>(call.size);
  for (Rank distance = 1; distance < count; distance *= 2)
    for (Rank at = 0; at < count; ++at)
      entries.push_back({members[index(at)], members[index((at + distance) % count)], messages,
                         bytes / (distance)});
}

Communication with_calls(const Problem& problem) {
  bool has_groups = false;
  for (const Call& call : problem.calls)
    has_groups = has_groups || !call.members.empty();
  if (!has_groups) return problem.communication;
  std::vector<Traffic> entries = problem.communication.entries();
  for (const Call& call : problem.calls)
    add_rounds(call, problem.ranks(), entries);
  return {problem.ranks(), std::move(entries)};
}

} // namespace

Guide::Guide(const Problem& problem, const HostCosts& costs, const State& state)
    : _problem(&problem), _costs(&costs), _communication(with_calls(problem)),
      _hosts(problem.network.hosts.size()), _width((_hosts + lanes - 1) / lanes * lanes),
      _table(index(problem.ranks()) * _width), _message_to(_hosts * _width),
      _message_from(_hosts * _width), _byte_to(_hosts * _width), _byte_from(_hosts * _width) {
  rebuild(state);
}

void Guide::rebuild(const State& state) {
  const auto hosts = static_cast<HostId>(_hosts);
  for (HostId first = 0; first < hosts; ++first)
    for (HostId second = 0; second < hosts; ++second) {
      const HostCosts::Pair& to = (*_costs)(second, first);
      const HostCosts::Pair& from = (*_costs)(first, second);
      const std::size_t at = index(first) * _width + index(second);
      _message_to[at] = static_cast<float>(to.message);
      _message_from[at] = static_cast<float>(from.message);
      const bool priced = _costs->has_limits();
      _byte_to[at] = static_cast<float>(to.byte + (priced ? state.price(second, first) : 0));
      _byte_from[at] = static_cast<float>(from.byte + (priced ? state.price(first, second) : 0));
    }
  const auto away = static_cast<float>(_problem->migration.value() / _problem->ranks());
  for (Rank rank = 0; rank < _problem->ranks(); ++rank) {
    float* const row = &_table[at(rank)];
    std::fill_n(row, _width, _problem->previous.empty() ? 0 : away);
    if (!_problem->previous.empty()) row[index(_problem->previous[index(rank)])] = 0;
    for (const Communication::Peer& peer : peers(rank)) {
      const HostId there = state.host(peer.rank);
      add(row, _message_to, there, peer.sent_messages);
      add(row, _byte_to, there, peer.sent_bytes);
      add(row, _message_from, there, peer.received_messages);
      add(row, _byte_from, there, peer.received_bytes);
    }
  }
}

void Guide::follow(Rank rank, HostId from, HostId to) {
  for (const Communication::Peer& peer : peers(rank)) {
    float* const row = &_table[at(peer.rank)];
    for (const auto& [there, sign] : {std::pair(from, -1.0), std::pair(to, 1.0)}) {
      // The peer's own view: what it sends is what this one receives.
      add(row, _message_to, there, sign * peer.received_messages);
      add(row, _byte_to, there, sign * peer.received_bytes);
      add(row, _message_from, there, sign * peer.sent_messages);
      add(row, _byte_from, there, sign * peer.sent_bytes);
    }
  }
}

float Guide::between(const Communication::Peer& peer, HostId here, HostId there) const {
  const std::size_t at = index(there) * _width + index(here);
  return static_cast<float>(peer.sent_messages) * _message_to[at] +
         static_cast<float>(peer.sent_bytes) * _byte_to[at] +
         static_cast<float>(peer.received_messages) * _message_from[at] +
         static_cast<float>(peer.received_bytes) * _byte_from[at];
}

void Guide::add(float* row, const std::vector<float>& table, HostId there, double weight) const {
  if (weight == 0) return;
  const auto factor = static_cast<float>(weight);
  const float* const values = &table[index(there) * _width];
  for (std::size_t first = 0; first < _width; first += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) // a fixed number, for the compiler
      row[first + lane] += factor * values[first + lane];
}

} // namespace thalweg::mapping
