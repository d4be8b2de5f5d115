#include "runtime/execute/execution.hpp"

#include <algorithm>
#include <cassert>

namespace thalweg::runtime {
namespace {

bool overlap(std::span<const Interval> a, std::span<const Interval> b) {
  for (const Interval& x : a)
    for (const Interval& y : b)
      if (x.begin < y.end && y.begin < x.end) return true;
  return false;
}

} // namespace

void Execution::start(const Program& program, const Layout& layout, const Task& task,
                      Transport& transport) {
  assert(_base == _next && task.window > 0);
  _program = &program;
  _layout = &layout;
  _transport = &transport;
  _task = task;
  _scratch.release_all();
  _scratch.set_shape(task.shape);
  _registers.assign(1, nullptr);
  for (int reg = 1; reg < program.registers(); ++reg)
    _registers.push_back(_scratch.address(_scratch.acquire(layout.total())));
  _expansion.start(program, layout.segments());
  _base = _lowest = _next = 0;
  _longest_window = std::max(64, 4 * task.window);
  advance();
}

void Execution::run(const Program& program, const Layout& layout, const Task& task,
                    Transport& transport) {
  start(program, layout, task, transport);
  while (!finished()) {
    for (const Transport::Token token : transport.wait())
      complete(token);
    advance();
  }
}

void Execution::advance() {
  while (admit() || progress()) {
  }
  assert(finished() || _sends + _receives > 0);
}

/// Lets transfers into the window. Whether something may have become possible.
bool Execution::admit() {
  while (_base < _next && flight(_base).state == State::done)
    ++_base;
  while (_lowest < _next && !is_open(flight(_lowest)))
    ++_lowest;
  bool any = false;
  for (; !_expansion.done() && _next - _lowest < _longest_window; _expansion.pop()) {
    const Expansion::Item item = _expansion.front();
    const OwnTransfer& transfer = _program->transfers()[static_cast<std::size_t>(item.transfer)];
    if (transfer.direction == Direction::send && _sends >= _task.window) break;
    if (transfer.direction == Direction::receive && _receives >= _task.window) break;
    if (_next - _base == static_cast<std::int64_t>(_flights.size())) grow();
    Flight& added = flight(_next++);
    added.transfer = &transfer;
    added.at = item.at;
    added.segment = item.segment;
    added.scratch = Scratch::none;
    to_intervals(*_layout, item.segment, transfer.what, added.intervals);
    if (transfer.uses(0)) _task.places->cut(added.intervals);
    added.units = 0;
    for (const Interval& interval : added.intervals)
      added.units += interval.size();
    any = true;
    if (added.units == 0) {
      added.state = State::done;
      continue;
    }
    added.state = State::waiting;
    if (transfer.direction == Direction::send) ++_sends;
    if (transfer.direction == Direction::receive) {
      ++_receives;
      post_receive(added, _next - 1);
    } else {
      ++_undecided;
    }
  }
  return any;
}

/// Posts and writes what is possible, once around. Whether anything was.
bool Execution::progress() {
  bool any = false;
  for (std::int64_t position = _base; position < _next && _undecided > 0; ++position)
    any |= move(position);
  return any;
}

bool Execution::move(std::int64_t position) {
  Flight& it = flight(position);
  if (it.state == State::waiting) {
    if (read_blocked(position)) return false;
    if (it.transfer->direction == Direction::send) {
      if (send_blocked(position)) return false;
      post_send(it, position);
      return true;
    }
    read(it);
    if (!write_blocked(position)) write(it);
    return true;
  }
  if (it.state != State::arrived || write_blocked(position)) return false;
  write(it);
  return true;
}

/// Whether an earlier send to the same rank is still to be posted.
bool Execution::send_blocked(std::int64_t position) {
  const Flight& it = flight(position);
  for (std::int64_t earlier = _base; earlier < position; ++earlier) {
    const Flight& other = flight(earlier);
    if (other.state == State::waiting && other.transfer->direction == Direction::send &&
        other.transfer->peer == it.transfer->peer)
      return true;
  }
  return false;
}

/// Whether what it reads is still to be written by a transfer of an earlier step.
bool Execution::read_blocked(std::int64_t position) {
  const Flight& it = flight(position);
  for (std::int64_t earlier = _base; earlier < position; ++earlier) {
    const Flight& other = flight(earlier);
    if (other.state != State::done && other.segment == it.segment && other.at < it.at &&
        other.transfer->writes() && other.transfer->dst == it.transfer->src &&
        overlap(other.intervals, it.intervals))
      return true;
  }
  return false;
}

/// Whether what it writes is still to be read or written by an earlier transfer, or to be read by a
/// later one of the same step.
bool Execution::write_blocked(std::int64_t position) {
  const Flight& it = flight(position);
  const auto touches = [&](const Flight& other, Reg reg) {
    return reg == it.transfer->dst && other.segment == it.segment &&
           overlap(other.intervals, it.intervals);
  };
  const auto will_read = [](const Flight& other) {
    return other.transfer->reads() && other.state != State::done && other.scratch == Scratch::none;
  };
  for (std::int64_t earlier = _base; earlier < position; ++earlier) {
    const Flight& other = flight(earlier);
    if (other.state == State::done) continue;
    if (will_read(other) && touches(other, other.transfer->src)) return true;
    if (other.transfer->writes() && touches(other, other.transfer->dst)) return true;
  }
  const auto index = static_cast<std::int32_t>(it.transfer - _program->transfers().data());
  const std::int64_t last = position + it.transfer->last_reader - index;
  if (last >= _next) return true;
  for (std::int64_t later = position + 1; later <= last; ++later)
    if (will_read(flight(later)) && touches(flight(later), flight(later).transfer->src))
      return true;
  return false;
}

bool Execution::is_open(const Flight& flight) {
  return flight.state == State::posted ||
         (flight.state == State::waiting && flight.transfer->direction == Direction::send);
}

void Execution::post_send(Flight& it, std::int64_t position) {
  const OwnTransfer& transfer = *it.transfer;
  const std::byte* data = place(transfer.src, it.intervals.front().begin);
  if (it.intervals.size() > 1) {
    read(it);
    data = _scratch.address(it.scratch);
  }
  --_undecided;
  it.state = State::posted;
  it.posted = _task.log.now();
  _transport->send(position, transfer.peer, data, it.units,
                   _task.synchronous && transfer.last_to_peer &&
                       it.segment == _layout->segments() - 1);
}

void Execution::post_receive(Flight& it, std::int64_t position) {
  const OwnTransfer& transfer = *it.transfer;
  std::byte* data = place(transfer.dst, it.intervals.front().begin);
  if (transfer.how != How::copy || it.intervals.size() > 1 || write_blocked(position)) {
    it.scratch = _scratch.acquire(it.units);
    data = _scratch.address(it.scratch);
  }
  it.state = State::posted;
  it.posted = _task.log.now();
  _transport->receive(position, transfer.peer, data, it.units);
}

/// Copies what it reads to scratch.
void Execution::read(Flight& it) {
  if (it.transfer->direction == Direction::local) it.posted = it.completed = _task.log.now();
  it.scratch = _scratch.acquire(it.units);
  std::byte* to = _scratch.address(it.scratch);
  for (const Interval& interval : it.intervals) {
    _transport->copy(place(it.transfer->src, interval.begin), to, interval.size());
    to += interval.size() * _task.shape.extent;
  }
  it.state = State::arrived;
}

/// Writes what arrived from scratch to its place.
void Execution::write(Flight& it) {
  std::byte* incoming = _scratch.address(it.scratch);
  for (const Interval& interval : it.intervals) {
    std::byte* present = place(it.transfer->dst, interval.begin);
    if (it.transfer->how == How::combine_left) {
      _transport->combine(incoming, present, interval.size());
    } else {
      if (it.transfer->how == How::combine_right)
        _transport->combine(present, incoming, interval.size());
      _transport->copy(incoming, present, interval.size());
    }
    incoming += interval.size() * _task.shape.extent;
  }
  --_undecided;
  finish(it);
}

void Execution::complete(Transport::Token token) {
  Flight& it = flight(token);
  assert(it.state == State::posted);
  it.completed = _task.log.now();
  if (it.transfer->direction == Direction::send) {
    --_sends;
    finish(it);
    return;
  }
  --_receives;
  if (it.scratch == Scratch::none) {
    finish(it);
  } else {
    it.state = State::arrived;
    ++_undecided;
  }
}

void Execution::finish(Flight& it) {
  if (it.scratch != Scratch::none) _scratch.release(it.scratch);
  it.state = State::done;
  if (!_task.log.enabled()) return;
  _task.log.add({.direction = static_cast<std::uint8_t>(it.transfer->direction),
                 .how = static_cast<std::uint8_t>(it.transfer->how),
                 .peer = it.transfer->peer,
                 .step = it.transfer->step,
                 .segment = it.segment,
                 .size = it.units * _task.shape.bytes,
                 .posted = it.posted,
                 .done = it.completed});
}

void Execution::grow() {
  std::vector<Flight> larger(_flights.size() * 2);
  for (std::int64_t position = _base; position < _next; ++position)
    larger[static_cast<std::size_t>(position) & (larger.size() - 1)] = std::move(flight(position));
  _flights = std::move(larger);
}

} // namespace thalweg::runtime
