#include "simulator/completions.hpp"

#include <algorithm>

namespace thalweg::simulator {

void Completions::set(ConnectionId connection, double time) {
  const std::int32_t place = _place[index(connection)];
  if (place == nowhere) _heap.emplace_back();
  settle(place == nowhere ? _heap.size() - 1 : index(place), {time, connection});
}

void Completions::remove(ConnectionId connection) {
  const std::size_t hole = index(_place[index(connection)]);
  _place[index(connection)] = nowhere;
  const Completion last = _heap.back();
  _heap.pop_back();
  if (hole < _heap.size()) settle(hole, last);
}

/// Puts a completion where it belongs, above or below a place that is free.
void Completions::settle(std::size_t at, const Completion& completion) {
  for (; at > 0 && is_before(completion, _heap[(at - 1) / 4]); at = (at - 1) / 4)
    put(at, _heap[(at - 1) / 4]);
  for (std::size_t first = 4 * at + 1; first < _heap.size(); first = 4 * at + 1) {
    std::size_t least = first;
    const std::size_t end = std::min(first + 4, _heap.size());
    for (std::size_t child = first + 1; child < end; ++child)
      if (is_before(_heap[child], _heap[least])) least = child;
    if (!is_before(_heap[least], completion)) break;
    put(at, _heap[least]);
    at = least;
  }
  put(at, completion);
}

} // namespace thalweg::simulator
