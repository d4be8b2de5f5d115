#include "mapping/communication.hpp"

#include "algorithms/algorithm.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>

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

} // namespace

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
  struct Half {
    Rank rank;
    Peer peer;
  };
  std::vector<Half> halves;
  halves.reserve(2 * entries.size());
  for (const Traffic& each : entries) {
    const std::int32_t phase = std::min(each.phase, most_phases - 1);
    _phases = std::max<std::size_t>(_phases, index(phase) + 1);
    halves.push_back({each.from, {each.to, phase, each.messages, each.bytes, 0, 0}});
    halves.push_back({each.to, {each.from, phase, 0, 0, each.messages, each.bytes}});
    _messages += each.messages;
    _bytes += each.bytes;
  }
  const auto key = [](const Half& half) {
    return std::tuple(half.rank, half.peer.rank, half.peer.phase);
  };
  // Stable, so that sums don't depend on the sorting.
  std::ranges::stable_sort(halves, {}, key);
  _first.assign(index(ranks) + 1, 0);
  for (std::size_t at = 0; at < halves.size(); ++at) {
    const auto& [rank, peer] = halves[at];
    if (at == 0 || key(halves[at - 1]) != key(halves[at])) {
      _peers.push_back(peer);
      ++_first[index(rank) + 1];
      continue;
    }
    Peer& sum = _peers.back();
    sum.sent_messages += peer.sent_messages;
    sum.sent_bytes += peer.sent_bytes;
    sum.received_messages += peer.received_messages;
    sum.received_bytes += peer.received_bytes;
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
  for (Rank from = 0; from < ranks(); ++from)
    for (const Peer& peer : peers(from))
      if (peer.sent_messages > 0 || peer.sent_bytes > 0)
        all.push_back({from, peer.rank, peer.sent_messages, peer.sent_bytes, peer.phase});
  return all;
}

} // namespace thalweg::mapping
