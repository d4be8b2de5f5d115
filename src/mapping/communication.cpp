#include "mapping/communication.hpp"

#include "algorithms/algorithm.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace thalweg::mapping {
namespace {

void check_traffic(const Traffic& each, Rank ranks) {
  const auto fail = [&](const std::string& fault) {
    throw std::invalid_argument("the matrix from rank " + std::to_string(each.from) + " to rank " +
                                std::to_string(each.to) + fault);
  };
  if (each.from < 0 || each.from >= ranks || each.to < 0 || each.to >= ranks)
    fail(": there are " + std::to_string(ranks) + " ranks, numbered from 0");
  for (const double number : {each.messages, each.bytes})
    if (!(number >= 0) || !std::isfinite(number))
      fail(" has " + std::to_string(number) + ": messages and bytes must be numbers of at least 0");
  if (each.phase < 0)
    fail(" is in phase " + std::to_string(each.phase) + ": phases are numbered from 0");
}

/// What a rank exchanges with a peer by one entry of the matrix.
struct Half {
  Rank rank = 0, peer = 0;
  std::int32_t phase = 0;
  Communication::Exchange exchange;
};

/// Sorts the places of halves by a number of theirs, from 0 to count - 1; equal ones stay in their
/// order, so that sums don't depend on the sorting. O(halves + count).
void sort_stably(std::vector<std::size_t>& places, const std::vector<Half>& halves,
                 std::int32_t Half::*number, std::size_t count) {
  std::vector<std::size_t> next(count + 1);
  for (const Half& half : halves)
    ++next[index(half.*number) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::size_t> sorted(places.size());
  for (const std::size_t place : places)
    sorted[next[index(halves[place].*number)]++] = place;
  places.swap(sorted);
}

} // namespace

Communication::Exchange& Communication::Exchange::operator+=(const Exchange& other) {
  sent_messages += other.sent_messages;
  sent_bytes += other.sent_bytes;
  received_messages += other.received_messages;
  received_bytes += other.received_bytes;
  return *this;
}

Communication::Communication(Rank ranks, std::vector<Traffic> entries) {
  if (ranks < 1 || ranks > algorithms::most_ranks)
    throw std::invalid_argument("a matrix of " + std::to_string(ranks) +
                                " ranks: must be from 1 to " +
                                std::to_string(algorithms::most_ranks));
  for (const Traffic& each : entries)
    check_traffic(each, ranks);
  std::erase_if(entries, [](const Traffic& each) {
    return each.from == each.to || (each.messages == 0 && each.bytes == 0);
  });
  std::vector<Half> halves;
  halves.reserve(2 * entries.size());
  for (const Traffic& each : entries) {
    const std::int32_t phase = std::min(each.phase, most_phases - 1);
    _phases = std::max<std::size_t>(_phases, index(phase) + 1);
    halves.push_back({each.from, each.to, phase, {each.messages, each.bytes, 0, 0}});
    halves.push_back({each.to, each.from, phase, {0, 0, each.messages, each.bytes}});
    _messages += each.messages;
    _bytes += each.bytes;
  }
  std::vector<std::size_t> places(halves.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  sort_stably(places, halves, &Half::phase, _phases);
  sort_stably(places, halves, &Half::peer, index(ranks));
  sort_stably(places, halves, &Half::rank, index(ranks));
  _first.assign(index(ranks) + 1, 0);
  for (const std::size_t place : places) {
    const Half& half = halves[place];
    std::size_t& peers = _first[index(half.rank) + 1];
    if (peers == 0 || _peers.back().rank != half.peer) {
      _peers.push_back({{}, half.peer, _by_phase.size(), _by_phase.size()});
      ++peers;
    }
    Peer& peer = _peers.back();
    if (peer.first == peer.last || _by_phase.back().phase != half.phase) {
      _by_phase.push_back({{}, half.phase});
      ++peer.last;
    }
    peer += half.exchange;
    _by_phase.back() += half.exchange;
  }
  for (std::size_t rank = 0; rank < index(ranks); ++rank)
    _first[rank + 1] += _first[rank];
}

Communication Communication::between(std::span<const Rank> group_of, Rank groups) const {
  std::vector<Traffic> sums;
  for (Traffic each : entries()) {
    each.from = group_of[index(each.from)];
    each.to = group_of[index(each.to)];
    if (each.from != each.to) sums.push_back(each);
  }
  return {groups, std::move(sums)};
}

std::vector<Traffic> Communication::entries() const {
  std::vector<Traffic> all;
  all.reserve(_by_phase.size());
  for (Rank from = 0; from < ranks(); ++from)
    for (const Peer& peer : peers(from))
      for (const PhaseExchange& each : by_phase(peer))
        if (each.sent_messages > 0 || each.sent_bytes > 0)
          all.push_back({from, peer.rank, each.sent_messages, each.sent_bytes, each.phase});
  return all;
}

} // namespace thalweg::mapping
