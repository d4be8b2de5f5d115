#include "simulator/engine.hpp"

#include <algorithm>
#include <stdexcept>

namespace thalweg::simulator {

namespace {

using execution::Executor;

/// Events whose times differ relatively by less than this count as simultaneous.
constexpr double simultaneous = 1 + 1e-13;

} // namespace

Engine::Engine(const Workload& workload, const Ports& ports, const network::MessageCost& cost,
               int window, Wire& wire, EventQueue& queue)
    : _workload(workload), _ports(ports), _cost(cost), _window(window), _wire(wire), _queue(queue),
      _states(workload.sizes.size()), _spans(workload.sizes.size()),
      _connections(workload.connections.size()),
      _exits(static_cast<std::size_t>(workload.ranks), 0) {
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

void Engine::run(std::span<const Time> entries) {
  _executor.start(_workload.operations, _workload.pipeline, _window, _workload.is_empty());
  for (Rank rank = 0; rank < _workload.ranks; ++rank)
    if (entries.empty() || entries[static_cast<std::size_t>(rank)] == Time(0))
      _executor.enter(rank);
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
    _wire.settle(last);
  }
  if (!_executor.finished())
    throw std::invalid_argument(
        "the schedule can't be simulated: a transfer in it waits for a later "
        "one; check it with verify()");
}

void Engine::handle(const TimedEvent& event) {
  const MessageId id = event.id;
  switch (event.kind) {
  case EventKind::enter:
    _exits[static_cast<std::size_t>(id)] = event.time;
    return _executor.enter(id);
  case EventKind::ready:
    return make_ready(id, event.time);
  case EventKind::request:
    state(id).requested = true;
    if (state(id).posted) answer(id, event.time);
    return;
  case EventKind::sent:
    return finish_sending(id, event.time);
  case EventKind::arrived:
    if (state(id).posted) return arrive(id);
    state(id).arrived = true;
    return;
  case EventKind::received: {
    span(id).end = event.time;
    double& exit = _exits[static_cast<std::size_t>(of(id).to)];
    exit = std::max(exit, event.time);
    return _executor.written(_workload.receiving(id));
  }
  case EventKind::wire:
  case EventKind::grow:
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
      span(message) = {.start = now, .cause = cause};
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
  if (size(message) > _cost.eager_limit)
    _queue.push(ready + way.latency, EventKind::request, message);
  else if (ready > now)
    _queue.push(ready, EventKind::ready, message);
  else
    make_ready(message, now);
}

void Engine::post_receive(MessageId message, double now, MessageId cause) {
  state(message).posted = true;
  if (state(message).requested) {
    span(message).cause = cause;
    answer(message, now);
  }
  if (state(message).arrived) arrive(message);
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
    if (back.busy || (back.granted > 0 && !crossing)) return back.unanswered.push_back(message);
  }
  send_answer(message, now);
}

void Engine::send_answer(MessageId message, double now) {
  ++connection(message).granted;
  _queue.push(now + path(message).answer_latency + _cost.handshake.value(), EventKind::ready,
              message);
}

void Engine::make_ready(MessageId message, double now) {
  ConnectionState& own = connection(message);
  if (own.busy)
    own.waiting.push_back(message);
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
  double& exit = _exits[static_cast<std::size_t>(of(message).from)];
  exit = std::max(exit, now);
  ConnectionState& own = connection(message);
  own.busy = false;
  if (size(message) > _cost.eager_limit) --own.granted;
  for (const MessageId opposite : own.unanswered) {
    span(opposite).cause = message;
    send_answer(opposite, now);
  }
  own.unanswered.clear();
  if (own.next < own.waiting.size()) {
    const MessageId following = own.waiting[own.next++];
    span(following).cause = message;
    flow(following, now);
  }
  _executor.sent(_workload.sending(message));
  _executor.advance(of(message).from);
}

void Engine::put_in_place(MessageId message, double now) {
  const Template& t = of(message);
  const Path& way = path(message);
  const auto bytes = static_cast<double>(size(message));
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
