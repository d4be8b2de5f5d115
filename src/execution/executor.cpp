#include "execution/executor.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::execution {

void Executor::start(const Operations& operations, const schedule::Pipeline& pipeline, int window,
                     IsEmpty is_empty, std::int32_t prepared) {
  assert(window > 0);
  const std::size_t count = operations.size() * index(pipeline.segments);
  if (count > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw std::length_error("a schedule of " + std::to_string(operations.size()) +
                            " operations in " + std::to_string(pipeline.segments) +
                            " segments is too long to execute: use larger segments");
  _operations = &operations;
  _count = operations.size();
  _window = window;
  _posts.clear();
  _cause = {};
  _unfinished = 0;
  _ranks_left = operations.ranks();
  _segments = pipeline.segments;
  _is_empty = std::move(is_empty);
  _states.clear();
  _prepared = 0;
  prepare(std::min(prepared, pipeline.segments));
  _queues.assign(index(operations.queues()), {});
  set_up_ranks(pipeline);
}

void Executor::prepare(std::int32_t segments) {
  const std::size_t begin = _states.size();
  _states.reserve(index(segments) * _count);
  for (; _prepared < segments; ++_prepared)
    for (const Operation& operation : _operations->all())
      _states.push_back({operation.reads, operation.writes});
  if (_is_empty) leave_out(begin);
}

void Executor::enter(std::int32_t rank) {
  _cause = {};
  advance(rank);
}

void Executor::leave_out(std::size_t begin) {
  for (std::size_t place = begin; place < _states.size(); ++place) {
    const Item item = item_at(static_cast<std::int32_t>(place));
    if (!_is_empty(item)) continue;
    state(item).left_out = true;
    for (const bool after_read : {false, true})
      release(item, after_read);
  }
}

void Executor::set_up_ranks(const schedule::Pipeline& pipeline) {
  const std::int64_t longest = longest_window(_window);
  _recent_mask = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(longest))) - 1;
  _progress.assign(index(_operations->ranks()), {});
  std::int64_t recent = 0;
  for (std::int32_t rank = 0; rank < _operations->ranks(); ++rank) {
    const std::int64_t operations = _operations->begin(rank + 1) - _operations->begin(rank);
    if (operations * pipeline.segments <= longest) continue;
    _progress[index(rank)].recent = recent;
    recent += _recent_mask + 1;
  }
  _recent.resize(index(recent));
  _cursors.resize(pipeline.segments == 1 ? 0 : _operations->all_groups());
  std::span<Expansion::Cursor> rest = _cursors;
  for (std::int32_t rank = 0; rank < _operations->ranks(); ++rank) {
    const std::size_t own = rest.empty() ? 0 : _operations->groups(rank).size() - 1;
    _progress[index(rank)].order.start(*_operations, rank, pipeline, rest.first(own));
    rest = rest.subspan(own);
  }
}

void Executor::advance(std::int32_t rank) {
  Progress& own = _progress[index(rank)];
  for (; !own.order.done(); own.order.pop()) {
    const Item item = own.order.front();
    if (item.segment >= _prepared) prepare(std::min(_segments, 2 * _prepared));
    const Operation& operation = (*_operations)[item.operation];
    State& entering = state(item);
    if (entering.left_out) continue;
    if (!has_room(own, operation.direction)) return;
    enter(own, item, operation, entering);
  }
  if (!std::exchange(own.all_entered, true)) --_ranks_left;
}

bool Executor::has_room(Progress& own, Direction direction) {
  if (direction == Direction::send && own.sends >= _window) return false;
  if (direction == Direction::receive && own.receives >= _window) return false;
  const std::int64_t longest = longest_window(_window);
  if (own.recent < 0 || own.next - own.lowest < longest) return true;
  while (own.lowest < own.next && !_states[index(recent(own, own.lowest))].open)
    ++own.lowest;
  return own.next - own.lowest < longest;
}

void Executor::enter(Progress& own, Item item, const Operation& operation, State& entering) {
  if (own.recent >= 0) recent(own, own.next) = static_cast<std::int32_t>(place(item));
  ++own.next;
  ++_unfinished;
  entering.entered = true;
  switch (operation.direction) {
  case Direction::send:
    entering.open = true;
    ++own.sends;
    return enqueue(_queues[index(operation.queue)], item, entering);
  case Direction::receive:
    entering.open = true;
    ++own.receives;
    return post(Action::receive, item, entering);
  case Direction::local:
    if (entering.reads == 0) read(item, entering);
  }
}

void Executor::enqueue(Queue& queue, Item item, State& sending) {
  if (queue.first < 0 && sending.reads == 0) return post(Action::send, item, sending);
  const auto last = static_cast<std::int32_t>(place(item));
  (queue.first < 0 ? queue.first : _states[index(queue.last)].tag) = last;
  queue.last = last;
}

void Executor::post_from(Queue& queue) {
  while (queue.first >= 0 && _states[index(queue.first)].reads == 0) {
    const std::int32_t first = queue.first;
    State& sending = _states[index(first)];
    queue.first = std::exchange(sending.tag, -1);
    post(Action::send, item_at(first), sending);
  }
}

void Executor::read(Item item, State& reading) {
  post(Action::read, item, reading);
  reading.has_data = true;
  release(item, true);
  if (reading.writes == 0) post(Action::write, item, reading);
}

void Executor::sent(Item item) {
  assert(state(item).open);
  _cause = item;
  state(item).open = false;
  --_progress[index((*_operations)[item.operation].rank)].sends;
  --_unfinished;
  release(item, true);
}

void Executor::arrived(Item item) {
  _cause = item;
  State& receiving = state(item);
  assert(receiving.open);
  receiving.open = false;
  receiving.has_data = true;
  --_progress[index((*_operations)[item.operation].rank)].receives;
  if (receiving.writes == 0) post(Action::write, item, receiving);
}

void Executor::written(Item item) {
  assert(state(item).has_data && state(item).writes == 0);
  _cause = item;
  --_unfinished;
  release(item, false);
}

void Executor::release(Item item, bool after_read) {
  for (const Dependent& dependent : _operations->dependents(item.operation)) {
    if (dependent.after_read != after_read) continue;
    const Item waiting{dependent.waiting, item.segment};
    State& its = state(waiting);
    if (!dependent.reads) {
      if (--its.writes == 0 && its.has_data) post(Action::write, waiting, its);
    } else if (--its.reads == 0 && its.entered) {
      const Operation& operation = (*_operations)[waiting.operation];
      if (operation.direction == Direction::local)
        read(waiting, its);
      else
        post_from(_queues[index(operation.queue)]);
    }
  }
}

} // namespace thalweg::execution
