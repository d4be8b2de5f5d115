#include "execution/expansion.hpp"

#include <algorithm>
#include <cassert>

namespace thalweg::execution {

void Expansion::start(const Operations& operations, std::int32_t rank,
                      const schedule::Pipeline& pipeline, std::span<Cursor> queue) {
  _pipeline = pipeline;
  _queue = queue;
  _head = _queued = 0;
  _pending = 0;
  _begun = 1;
  _current = {};
  _operation = operations.begin(rank);
  _end = operations.begin(rank + 1);
  _groups = {};
  if (pipeline.segments == 1 || done()) return; // The operations are in order already.
  _groups = operations.groups(rank);
  assert(queue.size() + 1 >= _groups.size());
  open({_pending++, 0});
}

void Expansion::open(Cursor cursor) {
  _current = cursor;
  _begun = std::max(_begun, cursor.segment + 1);
  const auto group = index(cursor.group);
  _operation = _groups[group].begin;
  _end = _groups[group + 1].begin;
}

void Expansion::leave_out_last(std::int32_t segments) {
  assert(segments >= 0 && _pipeline.segments - segments > _begun);
  _pipeline.segments -= segments;
}

void Expansion::open_next() {
  if (++_current.segment < _pipeline.segments) {
    std::size_t back = _head + _queued++;
    if (back >= _queue.size()) back -= _queue.size();
    _queue[back] = _current;
  }
  const Cursor first{_pending, 0};
  const bool is_any_pending = index(_pending) + 1 < _groups.size();
  if (is_any_pending && (_queued == 0 || step(first) <= step(_queue[_head]))) {
    ++_pending;
    open(first);
  } else if (_queued > 0) {
    open(_queue[_head]);
    --_queued;
    if (++_head == _queue.size()) _head = 0;
  }
}

} // namespace thalweg::execution
