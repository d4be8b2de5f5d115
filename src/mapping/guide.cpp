#include "mapping/guide.hpp"

#include "units/index.hpp"

#include <bit>
#include <numeric>
#include <utility>

namespace thalweg::mapping {
namespace {

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
      _hosts(problem.network.hosts.size()), _table(index(problem.ranks()) * _hosts),
      _message_to(_hosts * _hosts), _message_from(_hosts * _hosts), _byte_to(_hosts * _hosts),
      _byte_from(_hosts * _hosts) {
  rebuild(state);
}

void Guide::rebuild(const State& state) {
  const auto hosts = static_cast<HostId>(_hosts);
  for (HostId first = 0; first < hosts; ++first)
    for (HostId second = 0; second < hosts; ++second) {
      const HostCosts::Pair& to = (*_costs)(second, first);
      const HostCosts::Pair& from = (*_costs)(first, second);
      const std::size_t at = index(first) * _hosts + index(second);
      _message_to[at] = static_cast<float>(to.message);
      _message_from[at] = static_cast<float>(from.message);
      const bool priced = _costs->has_limits();
      _byte_to[at] = static_cast<float>(to.byte + (priced ? state.price(second, first) : 0));
      _byte_from[at] = static_cast<float>(from.byte + (priced ? state.price(first, second) : 0));
    }
  const auto away = static_cast<float>(_problem->migration.value() / _problem->ranks());
  for (Rank rank = 0; rank < _problem->ranks(); ++rank) {
    float* const row = &_table[at(rank)];
    std::fill_n(row, _hosts, _problem->previous.empty() ? 0 : away);
    if (!_problem->previous.empty()) row[index(_problem->previous[index(rank)])] = 0;
    for (const Communication::Peer& peer : peers(rank))
      add(rank, peer, state.host(peer.rank), 1);
  }
}

void Guide::follow(Rank rank, HostId from, HostId to) {
  for (const Communication::Peer& peer : peers(rank)) {
    // The peer's own view: what it sends is what this one receives.
    const Communication::Peer mirrored{rank, peer.received_messages, peer.received_bytes,
                                       peer.sent_messages, peer.sent_bytes};
    add(peer.rank, mirrored, from, -1);
    add(peer.rank, mirrored, to, 1);
  }
}

float Guide::between(const Communication::Peer& peer, HostId here, HostId there) const {
  const std::size_t at = index(there) * _hosts + index(here);
  return static_cast<float>(peer.sent_messages) * _message_to[at] +
         static_cast<float>(peer.sent_bytes) * _byte_to[at] +
         static_cast<float>(peer.received_messages) * _message_from[at] +
         static_cast<float>(peer.received_bytes) * _byte_from[at];
}

void Guide::add(Rank rank, const Communication::Peer& peer, HostId there, float sign) {
  float* const row = &_table[at(rank)];
  const std::size_t first = index(there) * _hosts;
  const float* const message_to = &_message_to[first];
  const float* const message_from = &_message_from[first];
  const float* const byte_to = &_byte_to[first];
  const float* const byte_from = &_byte_from[first];
  const float sent_messages = sign * static_cast<float>(peer.sent_messages);
  const float sent_bytes = sign * static_cast<float>(peer.sent_bytes);
  const float received_messages = sign * static_cast<float>(peer.received_messages);
  const float received_bytes = sign * static_cast<float>(peer.received_bytes);
  for (std::size_t host = 0; host < _hosts; ++host)
    row[host] += sent_messages * message_to[host] + sent_bytes * byte_to[host] +
                 received_messages * message_from[host] + received_bytes * byte_from[host];
}

} // namespace thalweg::mapping
