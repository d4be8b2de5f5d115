#include "mapping/streams.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace thalweg::mapping {
namespace {

/// The strongly connected components of a matrix, by Tarjan's algorithm.
class Components {
public:
  explicit Components(const Communication& communication)
      : _communication(communication), _number(index(communication.ranks())),
        _least(_number.size()), _component(_number.size(), collective::no_rank) {
    for (Rank rank = 0; rank < communication.ranks(); ++rank)
      if (_number[index(rank)] == 0) search(rank);
  }

  [[nodiscard]] Rank of(Rank rank) const { return _component[index(rank)]; }

private:
  /// A rank on the path from the first one, and its next peer to look at.
  struct Visit {
    Rank rank = 0;
    std::size_t next = 0;
  };

  void search(Rank first) {
    enter(first);
    while (!_path.empty()) {
      Visit& here = _path.back();
      const auto peers = _communication.peers(here.rank);
      if (here.next == peers.size()) {
        leave();
        continue;
      }
      const Communication::Peer& peer = peers[here.next++];
      if (peer.sent_messages <= 0 && peer.sent_bytes <= 0) continue;
      if (_number[index(peer.rank)] == 0)
        enter(peer.rank);
      else if (_component[index(peer.rank)] == collective::no_rank)
        lower(here.rank, _number[index(peer.rank)]);
    }
  }

  void enter(Rank rank) {
    _number[index(rank)] = _least[index(rank)] = ++_numbered;
    _path.push_back({rank});
    _open.push_back(rank);
  }

  void leave() {
    const Rank rank = _path.back().rank;
    _path.pop_back();
    if (!_path.empty()) lower(_path.back().rank, _least[index(rank)]);
    if (_least[index(rank)] < _number[index(rank)]) return;
    Rank member = collective::no_rank;
    do {
      member = _open.back();
      _open.pop_back();
      _component[index(member)] = rank;
    } while (member != rank);
  }

  void lower(Rank rank, std::size_t number) {
    _least[index(rank)] = std::min(_least[index(rank)], number);
  }

  const Communication& _communication;
  std::size_t _numbered = 0;
  /// By rank: when it was found, from 1; and the first found of those open that it leads to.
  std::vector<std::size_t> _number, _least;
  std::vector<Rank> _component; ///< by rank: a rank of it
  std::vector<Visit> _path;
  std::vector<Rank> _open; ///< ranks without a component, as they were found
};

} // namespace

Communication without_streams(const Problem& problem) {
  double begun = 1;
  for (const Call& call : problem.calls)
    if (call.members.empty()) begun += call.count;
  const Components components(problem.communication);
  std::vector<Traffic> entries = problem.communication.entries();
  for (Traffic& each : entries)
    if (components.of(each.from) != components.of(each.to))
      each.messages = std::min(each.messages, begun);
  return {problem.ranks(), std::move(entries)};
}

Problem with_waits(Problem problem) {
  if (problem.metric == Metric::both) problem.communication = without_streams(problem);
  return problem;
}

} // namespace thalweg::mapping
