#include "simulator/engine.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace thalweg::simulator {

namespace {

using execution::Executor;

/// Segments after which steady states are looked for the first time, or sooner if they may be
/// guessed, and how many more messages are simulated from each look to the next.
constexpr std::int64_t first_look = 16, first_guess = 8;
constexpr double look_growth = 1.15;
/// After how many times as many messages as a steady state is guessed the end is guessed.
constexpr std::int64_t late = 2;
/// Segments for which memory is set up at first if some may be skipped.
constexpr std::int32_t prepared = 256;

} // namespace

Engine::Engine(const Workload& workload, const Ports& ports, const network::MessageCost& cost,
               int window, Wire& wire, EventQueue& queue, bool skips)
    : _workload(workload), _ports(ports), _cost(cost), _window(window), _wire(wire), _queue(queue),
      _frontiers(workload.transfers()), _connections(workload.connections.size()),
      _exits(static_cast<std::size_t>(workload.ranks), 0),
      _skipped(static_cast<std::size_t>(workload.ranks), 0), _exit_growth(_exits),
      _absorbed(_exits), _outside(workload.ranks) {
  if (skips) {
    _steady_state.emplace(workload, ports);
  } else {
    _spans.resize(workload.transfers() * static_cast<std::size_t>(workload.pipeline.segments));
  }
  network::HostId hosts = 0;
  for (std::size_t i = 0; i < ports.connections(); ++i) {
    const Path& path = ports.path(static_cast<ConnectionId>(i));
    hosts = std::max({hosts, path.from + 1, path.to + 1});
  }
  _cpu_free.resize(static_cast<std::size_t>(hosts), 0);
  find_reverses();
}

void Engine::find_reverses() {
  const auto& all = _workload.connections; // ascending
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::pair reverse(all[i].second, all[i].first);
    const auto found = std::lower_bound(all.begin(), all.end(), reverse);
    if (found != all.end() && *found == reverse)
      _connections[i].reverse = static_cast<ConnectionId>(found - all.begin());
  }
}

void Engine::append(MessageQueue& queue, MessageId message) {
  (queue.first == no_message ? queue.first : span(queue.last).next) = message;
  queue.last = message;
}

MessageId Engine::take_first(MessageQueue& queue) {
  return std::exchange(queue.first, std::exchange(span(queue.first).next, no_message));
}

Engine::End Engine::run(std::span<const Time> entries, const Limits& limits) {
  _executor.start(_workload.operations, _workload.pipeline, _window, _workload.is_empty(),
                  _steady_state ? prepared : _workload.pipeline.segments);
  _next_look = (limits.messages > 0 ? first_guess : first_look) *
               static_cast<std::int64_t>(_workload.transfers());
  for (Rank rank = 0; rank < _workload.ranks; ++rank)
    if (entries.empty() || entries[static_cast<std::size_t>(rank)] == Time(0))
      enter(rank);
    else
      _queue.push(entries[static_cast<std::size_t>(rank)].value(), EventKind::enter, rank);
  handle_posts(0);
  _wire.settle(0);
  while (!_queue.empty()) {
    const double now = _queue.next_time();
    double last = now;
    while (!_queue.empty() && _queue.next_time() <= now * simultaneous) {
      const TimedEvent event = _queue.pop();
      last = event.time;
      handle(event);
      handle_posts(event.time);
    }
    // What is left when all is done is a wire's events that came to nothing.
    if (last + _skipped_time > limits.seconds && !_executor.finished()) return End::too_long;
    _wire.settle(last);
    if (!_steady_state || _simulated < _next_look) continue;
    look_for_steady_state(last, limits);
    if (limits.messages > 0 && _simulated > late * limits.messages && guess_exits())
      return End::finished;
  }
  if (!_executor.finished())
    throw std::invalid_argument(
        "the schedule can't be simulated: a transfer in it waits for a later "
        "one; check it with verify()");
  return End::finished;
}

void Engine::enter(Rank rank) {
  --_outside;
  if (rank < _workload.operations.ranks()) _executor.enter(rank);
}

void Engine::look_for_steady_state(double now, const Limits& limits) {
  _next_look = static_cast<std::int64_t>(look_growth * static_cast<double>(_simulated)) + 1;
  if (_outside > 0) return;
  const SteadyState::Evidence evidence = this->evidence(limits);
  const auto found = _steady_state->find(now, _executor, _wire, _spans, _frontiers, evidence);
  if (!found) return;
  if (evidence == SteadyState::Evidence::guess) note_guess();
  skip(*found);
  _has_guessed |= found->is_doubtful;
}

void Engine::note_guess() {
  if (_first_guess == 0) _first_guess = _simulated;
}

std::int64_t Engine::guessed_after(const Limits& limits) const {
  return std::max(limits.messages, (_first_guess - 1) / late);
}

SteadyState::Evidence Engine::evidence(const Limits& limits) const {
  using Evidence = SteadyState::Evidence;
  if (limits.messages > 0 && _simulated > limits.messages) return Evidence::guess;
  if (limits.until_even > 0 && _simulated > limits.until_even) return Evidence::even_pace;
  return Evidence::repetition;
}

bool Engine::guess_exits() {
  const auto outlooks = _steady_state->outlooks(_executor, _spans);
  if (!outlooks) return false;
  note_guess();
  _fewer = std::numeric_limits<double>::infinity();
  for (Rank rank = 0; rank < _workload.ranks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    leave(rank, (*outlooks)[at].end);
    _exit_growth[at] = (*outlooks)[at].per_segment;
    _absorbed[at] = 1;
    _has_guessed |= (*outlooks)[at].is_doubtful;
    _fewer = std::min<double>(_fewer, _executor.segments(rank) - _executor.begun(rank));
  }
  return true;
}

void Engine::skip(const SteadyState::Skip& skip) {
  note_growth(skip);
  _skipped_time += skip.time;
  for (Rank rank = 0; rank < _workload.ranks; ++rank) {
    const std::int32_t segments = skip.segments[static_cast<std::size_t>(rank)];
    if (segments == 0) continue;
    _executor.leave_out_last(rank, segments);
    _skipped[static_cast<std::size_t>(rank)] += segments;
  }
  for (std::size_t i = 0; i < _frontiers.size(); ++i) {
    const Template& t = _workload.templates[i];
    const std::int32_t ahead = skip.segments[static_cast<std::size_t>(t.from)] -
                               skip.segments[static_cast<std::size_t>(t.to)];
    _frontiers[i].arrived += ahead;
  }
}

/// A further segment would be skipped too: as long as no rank has absorbed it, all take longer.
/// What the slower ranks haven't absorbed by then is left to the next skips.
void Engine::note_growth(const SteadyState::Skip& skip) {
  if (!skip.repeats_each_segment) _fewer = 0;
  double longer = std::numeric_limits<double>::infinity();
  for (std::size_t rank = 0; rank < _absorbed.size(); ++rank)
    if (skip.per_segment[rank] > 0)
      longer = std::min(longer, (1 - _absorbed[rank]) * skip.per_segment[rank]);
  _growth += longer;
  for (std::size_t rank = 0; rank < _absorbed.size(); ++rank) {
    if (skip.per_segment[rank] <= 0) continue;
    const double share = longer / skip.per_segment[rank];
    _absorbed[rank] += share;
    if (share > 0) _fewer = std::min(_fewer, skip.segments[rank] / share);
  }
}

Engine::Growth Engine::growth() const {
  constexpr double nearly_all = 1 - 1e-9;
  for (std::size_t rank = 0; rank < _absorbed.size(); ++rank)
    if (_exits[rank] > 0 && _absorbed[rank] < nearly_all) return {};
  if (!std::isfinite(_fewer)) return {};
  return {_exit_growth, static_cast<std::int32_t>(_fewer)};
}

void Engine::leave(Rank rank, double now) {
  double& exit = _exits[static_cast<std::size_t>(rank)];
  exit = std::max(exit, now + _skipped_time);
  _exit_growth[static_cast<std::size_t>(rank)] = _growth;
}

void Engine::handle(const TimedEvent& event) {
  const MessageId id = event.id;
  switch (event.kind) {
  case EventKind::enter:
    leave(id, event.time);
    return enter(id);
  case EventKind::ready:
    return make_ready(id, event.time);
  case EventKind::request: {
    const MessageId received = at_receiver(id);
    const std::int32_t segment = _workload.segment(received);
    frontier(received).requested = segment + 1;
    if (segment < frontier(received).posted) answer(received, event.time);
    return;
  }
  case EventKind::sent:
    return finish_sending(id, event.time);
  case EventKind::arrived: {
    const MessageId received = at_receiver(id);
    const std::int32_t segment = _workload.segment(received);
    frontier(received).arrived = segment + 1;
    if (segment < frontier(received).posted) arrive(received);
    return;
  }
  case EventKind::received:
    span(id).end = event.time;
    leave(of(id).to, event.time);
    ++_simulated;
    return _executor.written(_workload.receiving(id));
  case EventKind::wire:
  case EventKind::grow:
  case EventKind::pass:
    return _wire.handle(event);
  }
}

void Engine::handle_posts(double now) {
  auto& posts = _executor.posts();
  for (std::size_t i = 0; i < posts.size(); ++i) { // more may come as they are handled
    const auto [action, item, completed, in_place] = posts[i];
    const MessageId message = _workload.message(item);
    const MessageId cause =
        completed.operation == execution::no_operation ? no_message : _workload.message(completed);
    switch (action) {
    case Executor::Action::send:
      span(message).cause = cause;
      post_send(message, now);
      break;
    case Executor::Action::receive:
      post_receive(message, now, cause);
      break;
    case Executor::Action::read:
      span(message).start = now;
      span(message).cause = cause;
      break;
    case Executor::Action::write:
      put_in_place(message, now);
      break;
    }
  }
  posts.clear();
}

void Engine::post_send(MessageId message, double now) {
  const Path& way = path(message);
  const double ready = way.from == way.to ? now : occupy_cpu(way.from, _cost.send.value(), now);
  if (has_handshake(message))
    _queue.push(ready + way.latency, EventKind::request, message);
  else if (ready > now)
    _queue.push(ready, EventKind::ready, message);
  else
    make_ready(message, now);
}

void Engine::post_receive(MessageId message, double now, MessageId cause) {
  const std::int32_t segment = _workload.segment(message);
  Frontier& own = frontier(message);
  own.posted = segment + 1;
  span(message).posted = now;
  if (segment < own.requested) {
    span(at_sender(message)).cause = cause;
    answer(message, now);
  }
  if (segment < own.arrived) arrive(message);
}

void Engine::arrive(MessageId message) {
  _executor.arrived(_workload.receiving(message));
  _executor.advance(of(message).to);
}

void Engine::answer(MessageId message, double now) {
  const ConnectionId reverse = connection(message).reverse;
  if (reverse != no_connection) {
    ConnectionState& back = _connections[static_cast<std::size_t>(reverse)];
    const bool crossing = back.granted > 0 && path(message).answer_latency >= most_skew;
    if (back.busy || (back.granted > 0 && !crossing)) return append(back.unanswered, message);
  }
  send_answer(message, now);
}

void Engine::send_answer(MessageId message, double now) {
  ++connection(message).granted;
  _queue.push(now + path(message).answer_latency + _cost.handshake.value(), EventKind::ready,
              at_sender(message));
}

void Engine::make_ready(MessageId message, double now) {
  ConnectionState& own = connection(message);
  if (own.busy)
    append(own.waiting, message);
  else
    flow(message, now);
}

void Engine::flow(MessageId message, double now) {
  connection(message).busy = true;
  const auto [start, blocker] = _wire.start(of(message).connection, message, size(message), now);
  span(message).start = start;
  if (blocker != no_message) span(message).cause = blocker;
}

void Engine::finish_sending(MessageId message, double now) {
  leave(of(message).from, now);
  ConnectionState& own = connection(message);
  own.busy = false;
  if (has_handshake(message)) --own.granted;
  while (own.unanswered.first != no_message) {
    const MessageId opposite = take_first(own.unanswered);
    span(at_sender(opposite)).cause = message;
    send_answer(opposite, now);
  }
  if (own.waiting.first != no_message) {
    const MessageId following = take_first(own.waiting);
    span(following).cause = message;
    flow(following, now);
  }
  _executor.sent(_workload.sending(message));
  _executor.advance(of(message).from);
}

void Engine::put_in_place(MessageId message, double now) {
  const Template& t = of(message);
  const Path& way = path(message);
  const double bytes = size(message);
  double work = t.combine ? bytes * _cost.combine_per_byte.value() : 0;
  if (way.from != way.to) work += _cost.receive.value();
  if (t.from == t.to && !t.combine) work = bytes * _cost.per_byte.value();
  _queue.push(occupy_cpu(way.to, work, now), EventKind::received, message);
}

double Engine::occupy_cpu(network::HostId host, double duration, double now) {
  if (duration <= 0) return now;
  double& free = _cpu_free[static_cast<std::size_t>(host)];
  free = std::max(free, now) + duration;
  return free;
}

} // namespace thalweg::simulator
