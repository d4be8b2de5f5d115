#include "runtime/execute/execution.hpp"

#include "runtime/execute/own_arithmetic.hpp"

#include <algorithm>
#include <cassert>

namespace thalweg::runtime {

using execution::Direction;
using execution::Executor;

void Execution::start(const Program& program, const Layout& layout, const Task& task,
                      Transport& transport) {
  assert(finished() && task.window > 0);
  _program = &program;
  _layout = &layout;
  _transport = &transport;
  _task = task;
  _scratch.release_all();
  _scratch.set_shape(task.shape);
  _registers.assign(1, nullptr);
  for (int reg = 1; reg < program.registers(); ++reg)
    _registers.push_back(_scratch.address(_scratch.acquire(layout.total())));
  Executor::IsEmpty is_empty;
  if (layout.may_have_empty_chunks()) is_empty = [this](Item item) { return this->is_empty(item); };
  _executor.start(program.operations(), {.segments = layout.segments(), .period = program.period()},
                  task.window, is_empty);
  _executor.enter(0);
  carry_out_posts();
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

void Execution::shrink(std::int64_t bytes) {
  assert(finished());
  if (_executor.kept() > bytes) _executor.release();
  _scratch.shrink(bytes - _executor.kept());
}

bool Execution::is_empty(Item item) const {
  bool any = false;
  for (const Range& range : transfer(item).what)
    _layout->for_each_interval(item.segment, range,
                               [&](Interval interval) { any |= interval.size() > 0; });
  return !any;
}

void Execution::complete(Transport::Token token) {
  Flight& it = flight(static_cast<FlightId>(token));
  it.completed = _task.log.now();
  const Item item = it.item;
  if (_program->operations()[item.operation].direction == Direction::receive) {
    _executor.arrived(item);
  } else {
    land(static_cast<FlightId>(token));
    _executor.sent(item);
  }
}

void Execution::advance() {
  _executor.advance(0);
  carry_out_posts();
}

/// Posts receives first, so that fewer messages arrive unexpected; but where a receive may write,
/// local transfers must have read.
void Execution::carry_out_posts() {
  auto& posts = _executor.posts();
  for (const Executor::Post& post : posts) {
    if (post.action == Executor::Action::receive) post_receive(post);
    if (post.action == Executor::Action::read) read(post);
  }
  const std::size_t known = posts.size();
  for (std::size_t i = 0; i < posts.size(); ++i) { // more may come as they are carried out
    const Executor::Post post = posts[i];
    if (post.action == Executor::Action::send) post_send(post.item);
    if (post.action == Executor::Action::write) write(post.item);
    if (post.action == Executor::Action::read && i >= known) read(post);
  }
  posts.clear();
}

/// Returns a flight for the operation, with its data located.
Execution::FlightId Execution::take_off(Item item) {
  if (_free.empty()) {
    _free.push_back(static_cast<FlightId>(_flights.size()));
    _flights.emplace_back();
  }
  const FlightId id = _free.back();
  _free.pop_back();
  Flight& it = flight(id);
  it.item = item;
  it.scratch = Scratch::none;
  it.in_place = false;
  const Transfer& own = transfer(item);
  to_intervals(*_layout, item.segment, own.what, it.intervals);
  const execution::Operation& operation = _program->operations()[item.operation];
  if ((operation.does_read() && own.src == 0) || (operation.does_write() && own.dst == 0))
    _task.places->cut(it.intervals);
  it.units = 0;
  for (const Interval& interval : it.intervals)
    it.units += interval.size();
  it.posted = _task.log.now();
  return id;
}

void Execution::post_send(Item item) {
  const FlightId id = take_off(item);
  Flight& it = flight(id);
  const Transfer& own = transfer(item);
  const std::byte* data = nullptr;
  if (it.intervals.size() > 1) {
    pack(it);
    data = _scratch.address(it.scratch);
  } else {
    data = place(own.src, it.intervals.front().begin);
  }
  _transport->send(id, own.to, data, it.units);
}

void Execution::post_receive(const Executor::Post& post) {
  const Item item = post.item;
  const FlightId id = take_off(item);
  Flight& it = flight(id);
  const Transfer& own = transfer(item);
  _executor.tag(item) = id;
  it.in_place = own.how == How::copy && it.intervals.size() == 1 && post.in_place;
  if (!it.in_place) it.scratch = _scratch.acquire(it.units);
  std::byte* const data =
      it.in_place ? place(own.dst, it.intervals.front().begin) : _scratch.address(it.scratch);
  _transport->receive(id, own.from, data, it.units);
}

void Execution::read(const Executor::Post& post) {
  const Item item = post.item;
  const FlightId id = take_off(item);
  Flight& it = flight(id);
  const Transfer& own = transfer(item);
  _executor.tag(item) = id;
  it.completed = it.posted;
  it.in_place = own.how != How::combine_right && post.in_place;
  if (!it.in_place) return pack(it);
  for (const Interval& interval : it.intervals)
    put(own.how, place(own.src, interval.begin), place(own.dst, interval.begin), interval.size());
}

void Execution::write(Item item) {
  const FlightId id = _executor.tag(item);
  if (!flight(id).in_place) unpack(flight(id));
  land(id);
  _executor.written(item);
}

/// Copies the data it reads to scratch.
void Execution::pack(Flight& it) {
  it.scratch = _scratch.acquire(it.units);
  std::byte* to = _scratch.address(it.scratch);
  for (const Interval& interval : it.intervals) {
    _transport->copy(place(transfer(it.item).src, interval.begin), to, interval.size());
    to += interval.size() * _task.shape.extent;
  }
}

/// Puts data that arrived in scratch in its place.
void Execution::unpack(Flight& it) {
  const Transfer& own = transfer(it.item);
  std::byte* incoming = _scratch.address(it.scratch);
  for (const Interval& interval : it.intervals) {
    put(own.how, incoming, place(own.dst, interval.begin), interval.size());
    incoming += interval.size() * _task.shape.extent;
  }
}

/// Overwrites `incoming` if it is to be combined on the right.
void Execution::put(How how, std::byte* incoming, std::byte* present, std::int64_t units) {
  if (how == How::combine_left) return _transport->combine(incoming, present, units);
  if (how == How::combine_right) _transport->combine(present, incoming, units);
  _transport->copy(incoming, present, units);
}

/// Ends the flight and frees what it used.
void Execution::land(FlightId id) {
  const Flight& it = flight(id);
  if (it.scratch != Scratch::none) _scratch.release(it.scratch);
  _free.push_back(id);
  if (!_task.log.enabled()) return;
  const Transfer& own = transfer(it.item);
  const Direction direction = _program->operations()[it.item.operation].direction;
  std::optional<OwnArithmetic> arithmetic; // for the times of receives
  if (direction == Direction::receive) arithmetic.emplace();
  _task.log.add({.direction = static_cast<std::uint8_t>(direction),
                 .how = static_cast<std::uint8_t>(own.how),
                 .peer = direction == Direction::receive ? own.from : own.to,
                 .step = own.step,
                 .segment = it.item.segment,
                 .size = it.units * _task.shape.bytes,
                 .posted = it.posted,
                 .done = it.completed});
}

} // namespace thalweg::runtime
