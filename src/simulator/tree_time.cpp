#include "simulator/tree_time.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace thalweg::simulator {
namespace {

using execution::Executor;
using network::HostId;

} // namespace

void TreeTime::Queue::push(double now, double time, MessageEvent kind, Rank message) {
  _heap.push({time, now,
              _sequence++ << 27 | static_cast<std::uint64_t>(message) << 3 |
                  static_cast<std::uint64_t>(kind)});
}

TreeTime::TreeTime(const Problem& problem, const SimulationOptions& options)
    : _network(problem.network), _placement(problem.placement), _collective(problem.collective),
      _cost(problem.cost), _window(schedule::Pipeline().window_within(options.window)),
      _down(collective::begins_at_root(_collective.kind)),
      _blocks(collective::root_has_blocks(_collective.kind)), _skip_empty(_collective.total() > 0),
      _hosts(problem.network.hosts.size()), _trunks(algorithms::trunk_sets(problem)),
      _tree({.down = _down, .combines = !_down && !_blocks}, _collective.ranks) {
  if (!collective::is_rooted(_collective.kind))
    throw std::invalid_argument("a " + std::string(collective::to_text(_collective.kind)) +
                                " isn't done along one tree: choose bcast, reduce, scatter or "
                                "gather");
  if (!problem.entries.empty())
    throw std::invalid_argument("many trees are timed for ranks that all enter at once: leave out "
                                "the entry times");
  check(problem, options);
  for (const network::Host& host : _network.hosts)
    _ports.push_back({0, host.egress.value()});
  for (const network::Host& host : _network.hosts)
    _ports.push_back({0, host.ingress.value()});
  const double per_byte = _cost.per_byte.value();
  _ports.resize(3 * _hosts, {0, per_byte > 0 ? 1 / per_byte : unlimited});
  for (const network::Trunk& trunk : _network.trunks)
    _ports.push_back({0, trunk.capacity.value()});

  const std::size_t ranks = _placement.size();
  _messages.resize(ranks);
  _bytes.resize(ranks);
  _cpu_free.resize(_hosts);
  std::vector<HostId> hosts = _placement;
  std::ranges::sort(hosts);
  _one_arrival = _down && std::ranges::adjacent_find(hosts) == hosts.end();
}

Time TreeTime::operator()(std::span<const Rank> order, std::span<const Rank> parents) {
  prepare(order, parents);
  run();
  return Time(_exit);
}

void TreeTime::prepare(std::span<const Rank> order, std::span<const Rank> parents) {
  for (Port& port : _ports)
    port.free = 0;
  std::ranges::fill(_cpu_free, 0.0);
  _queue.clear();
  _exit = 0;
  measure(order, parents);

  _tree.build(order, parents,
              [this](Rank rank) { return !_skip_empty || _bytes[index(rank)] > 0; });
  for (const Rank rank : order)
    if (_tree.has_message(rank)) connect(rank, parents[index(rank)]);
}

void TreeTime::measure(std::span<const Rank> order, std::span<const Rank> parents) {
  if (!_blocks) {
    std::ranges::fill(_bytes, static_cast<double>(_collective.size));
    return;
  }
  for (Rank rank = 0; rank < _collective.ranks; ++rank)
    _bytes[index(rank)] = static_cast<double>(_collective.block_size(rank));
  for (std::size_t at = order.size(); at-- > 1;)
    _bytes[index(parents[index(order[at])])] += _bytes[index(order[at])];
}

void TreeTime::connect(Rank rank, Rank parent) {
  Message& message = _messages[index(rank)];
  message.from = _down ? parent : rank;
  message.to = _down ? rank : parent;
  message.from_host = _placement[index(message.from)];
  message.to_host = _placement[index(message.to)];
  message.bytes = _bytes[index(rank)];
  message.latency = _network.latency(message.from_host, message.to_host).value();
  message.large = message.bytes > static_cast<double>(_cost.eager_limit);
  message.posted = message.requested = message.has_arrived = false;
}

void TreeTime::run() {
  _executor.start(_tree.operations(), {}, _window);
  for (Rank rank = 0; rank < _collective.ranks; ++rank)
    _executor.enter(rank);
  handle_posts(0);
  while (!_queue.empty()) {
    const Event event = _queue.pop();
    handle(event);
    if (!_executor.posts().empty()) handle_posts(event.time);
  }
}

void TreeTime::handle(const Event& event) {
  Message& message = _messages[index(event.message())];
  switch (event.kind()) {
  case MessageEvent::ready:
    return flow(event.message(), event.time);
  case MessageEvent::request:
    message.requested = true;
    if (message.posted)
      _queue.push(event.time,
                  event.time + _network.latency(message.to_host, message.from_host).value() +
                      _cost.handshake.value(),
                  MessageEvent::ready, event.message());
    return;
  case MessageEvent::sent:
    _executor.sent(_tree.sending(event.message()));
    return _executor.advance(message.from);
  case MessageEvent::wire:
    return pass_arrival(event.message(), event.time);
  case MessageEvent::arrived:
    if (message.posted) return arrive(event.message());
    message.has_arrived = true;
    return;
  case MessageEvent::received:
    _exit = std::max(_exit, event.time);
    return _executor.written(_tree.receiving(event.message()));
  }
}

void TreeTime::arrive(Rank id) {
  _executor.arrived(_tree.receiving(id));
  _executor.advance(_messages[index(id)].to);
}

void TreeTime::handle_posts(double now) {
  auto& posts = _executor.posts();
  for (std::size_t i = 0; i < posts.size(); ++i) { // more may come as they are handled
    const Executor::Action action = posts[i].action;
    const Rank id = _tree.operations()[posts[i].item.operation].transfer;
    if (action == Executor::Action::send) post_send(id, now);
    if (action == Executor::Action::receive) post_receive(id, now);
    if (action == Executor::Action::write) put_in_place(id, now);
  }
  posts.clear();
}

void TreeTime::post_receive(Rank id, double now) {
  Message& message = _messages[index(id)];
  message.posted = true;
  if (message.requested)
    _queue.push(now,
                now + _network.latency(message.to_host, message.from_host).value() +
                    _cost.handshake.value(),
                MessageEvent::ready, id);
  if (message.has_arrived) arrive(id);
}

void TreeTime::post_send(Rank id, double now) {
  const Message& message = _messages[index(id)];
  const double ready = message.from_host == message.to_host
                           ? now
                           : occupy_cpu(message.from_host, _cost.send.value(), now);
  if (message.large)
    _queue.push(now, ready + message.latency, MessageEvent::request, id);
  else if (ready > now)
    _queue.push(now, ready, MessageEvent::ready, id);
  else
    flow(id, now);
}

double TreeTime::serve(std::size_t port, double bytes, double begin) {
  Port& state = _ports[port];
  state.free = std::max(state.free, begin) + bytes / state.rate;
  return state.free;
}

void TreeTime::flow(Rank id, double now) {
  Message& message = _messages[index(id)];
  double start = now, left = now;
  const std::size_t from = index(message.from_host), to = index(message.to_host);
  const double bandwidth = _network.bandwidth(message.from_host, message.to_host).value();
  if (from != to) {
    for (const std::size_t port : {2 * _hosts + from, from}) {
      if (!is_limited(port)) continue;
      start = std::max(start, _ports[port].free);
      left = std::max(left, serve(port, message.bytes, start));
    }
    left = std::max(left, start + message.bytes / bandwidth);
    for (const std::int32_t each : _trunks->between(message.from_host, message.to_host))
      if (const std::size_t trunk = 3 * _hosts + index(each); is_limited(trunk))
        left = std::max(left, serve(trunk, message.bytes, start));
  } else {
    left = std::max(left, start + message.bytes / bandwidth);
  }
  message.left = left;
  _exit = std::max(_exit, left);
  // The end of a send matters only to operations that wait for room in the window.
  if (!_executor.all_entered(message.from))
    _queue.push(now, left, MessageEvent::sent, id);
  else
    _queue.skip();
  if (from != to && (is_limited(2 * _hosts + to) || is_limited(_hosts + to))) {
    if (_one_arrival)
      pass_arrival(id, start + message.latency);
    else
      _queue.push(now, start + message.latency, MessageEvent::wire, id);
  } else {
    _queue.push(now, left + message.latency, MessageEvent::arrived, id);
  }
}

void TreeTime::pass_arrival(Rank id, double now) {
  const Message& message = _messages[index(id)];
  double end = message.left + message.latency;
  const std::size_t to = index(message.to_host);
  for (const std::size_t port : {2 * _hosts + to, _hosts + to})
    if (is_limited(port)) end = std::max(end, serve(port, message.bytes, now));
  _queue.push(now, end, MessageEvent::arrived, id);
}

void TreeTime::put_in_place(Rank id, double now) {
  const Message& message = _messages[index(id)];
  double work = _down || _blocks ? 0 : message.bytes * _cost.combine_per_byte.value();
  if (message.from_host != message.to_host) work += _cost.receive.value();
  _queue.push(now, occupy_cpu(message.to_host, work, now), MessageEvent::received, id);
}

double TreeTime::occupy_cpu(HostId host, double duration, double now) {
  if (duration <= 0) return now;
  double& free = _cpu_free[index(host)];
  free = std::max(free, now) + duration;
  return free;
}

} // namespace thalweg::simulator
