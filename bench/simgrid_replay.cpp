#include "simgrid_replay.hpp"

#include "simulator/ports.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace thalweg::bench {
namespace {

using collective::Rank;
namespace s4u = simgrid::s4u;

/// Seconds; what happens less than this ahead happens now.
constexpr double instant = 1e-9;

double now() { return s4u::Engine::get_clock(); }

void sleep(double seconds) {
  if (seconds > 0) s4u::this_actor::sleep_for(seconds);
}

} // namespace

// Whoever rings a bell may be interrupted by other actors: all else must be done before.

void Inbox::put(double time, Kind kind, MessageId message) {
  _events.push({time, _sequence++, kind, message});
  if (std::exchange(_asleep, false)) _bell->release();
}

Inbox::Event Inbox::take() {
  while (_events.empty() || _events.top().time > now() + instant) {
    _asleep = true;
    if (_events.empty())
      _bell->acquire();
    else
      _bell->acquire_timeout(_events.top().time - now());
    _asleep = false;
  }
  const Event event = _events.top();
  _events.pop();
  return event;
}

Replay::Replay(const simulator::Workload& workload, const network::Network& network,
               const network::MessageCost& cost, int window, std::vector<s4u::Host*> hosts)
    : _workload(workload), _network(network), _cost(cost), _hosts(std::move(hosts)),
      _executor(workload, workload.pipeline.window_within(window)), _states(workload.sizes.size()),
      _connections(workload.connections.size()), _inboxes(_hosts.size()), _left(_hosts.size()) {
  find_reverses();
  count_messages();
}

void Replay::count_messages() {
  for (MessageId id = 0; id < static_cast<MessageId>(_workload.sizes.size()); ++id) {
    if (_workload.left_out(id)) continue;
    const simulator::Template& t = of(id);
    ++_left[static_cast<std::size_t>(t.to)];
    if (t.from == t.to) continue;
    ++_left[static_cast<std::size_t>(t.from)];
    ++connection(t.connection).left;
  }
}

void Replay::find_reverses() {
  const auto& all = _workload.connections; // ascending
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::pair reverse(all[i].second, all[i].first);
    const auto found = std::lower_bound(all.begin(), all.end(), reverse);
    if (found != all.end() && *found == reverse)
      _connections[i].reverse = static_cast<ConnectionId>(found - all.begin());
  }
}

double Replay::run(const s4u::Engine& engine) {
  for (collective::Rank rank = 0; rank < _workload.ranks; ++rank)
    _executor.enter(rank);
  hand_out_posts();
  start_actors();
  engine.run();
  if (!_executor.finished()) throw std::runtime_error("not all messages got through");
  return _last_exit;
}

void Replay::start_actors() {
  for (std::size_t rank = 0; rank < _hosts.size(); ++rank)
    s4u::Actor::create("rank", _hosts[rank], [this, rank] { go_through(static_cast<Rank>(rank)); });
  for (std::size_t i = 0; i < _connections.size(); ++i) {
    const auto [from, to] = _workload.connections[i];
    if (from != to)
      s4u::Actor::create("connection", _hosts[static_cast<std::size_t>(from)],
                         [this, i] { carry(static_cast<ConnectionId>(i)); });
  }
}

void Replay::go_through(Rank rank) {
  while (_left[static_cast<std::size_t>(rank)] > 0)
    handle(inbox(rank).take());
}

void Replay::carry(ConnectionId id) {
  const auto [from, to] = _workload.connections[static_cast<std::size_t>(id)];
  Connection& own = connection(id);
  for (; own.left > 0; --own.left) {
    own.bell->acquire();
    const MessageId message = own.ready.front();
    if (size(message) > 0)
      s4u::Comm::sendto(_hosts[static_cast<std::size_t>(from)],
                        _hosts[static_cast<std::size_t>(to)],
                        static_cast<std::uint64_t>(size(message)));
    own.ready.pop_front();
    const double sent = now();
    inbox(from).put(sent, Inbox::Kind::sent, message);
    inbox(to).put(sent + latency(from, to), Inbox::Kind::arrived, message);
  }
}

void Replay::handle(const Inbox::Event& event) {
  const MessageId message = event.message;
  switch (event.kind) {
  case Inbox::Kind::post_send:
    return post_send(message);
  case Inbox::Kind::post_receive:
    state(message).posted = true;
    if (state(message).requested) answer(message);
    if (state(message).arrived) arrive(message);
    return;
  case Inbox::Kind::write:
    return put_in_place(message);
  case Inbox::Kind::request:
    state(message).requested = true;
    if (state(message).posted) answer(message);
    return;
  case Inbox::Kind::ready:
    return make_ready(message);
  case Inbox::Kind::sent:
    return finish_sending(message);
  case Inbox::Kind::arrived:
    if (state(message).posted) return arrive(message);
    state(message).arrived = true;
    return;
  }
}

void Replay::post_send(MessageId message) {
  const auto [from, to] = std::pair(of(message).from, of(message).to);
  sleep(_cost.send.value());
  if (of(message).handshake)
    inbox(to).put(now() + latency(from, to), Inbox::Kind::request, message);
  else
    make_ready(message);
}

void Replay::make_ready(MessageId message) {
  Connection& own = connection(of(message).connection);
  own.ready.push_back(message);
  own.bell->release();
}

void Replay::answer(MessageId message) {
  const ConnectionId reverse = connection(of(message).connection).reverse;
  if (reverse != simulator::no_connection) {
    Connection& back = connection(reverse);
    const bool crossing =
        back.granted > 0 && latency(of(message).to, of(message).from) >= simulator::most_skew;
    if (!back.ready.empty() || (back.granted > 0 && !crossing))
      return back.unanswered.push_back(message);
  }
  send_answer(message);
}

void Replay::send_answer(MessageId message) {
  ++connection(of(message).connection).granted;
  const auto& [from, to] = _workload.connections[static_cast<std::size_t>(of(message).connection)];
  inbox(from).put(now() + latency(to, from) + _cost.handshake.value(), Inbox::Kind::ready, message);
}

void Replay::finish_sending(MessageId message) {
  Connection& own = connection(of(message).connection);
  if (of(message).handshake) --own.granted;
  for (const MessageId opposite : std::exchange(own.unanswered, {}))
    send_answer(opposite);
  complete(of(message).from);
  _executor.sent(message);
  hand_out_posts();
}

void Replay::arrive(MessageId message) {
  _executor.arrived(message);
  hand_out_posts();
}

void Replay::put_in_place(MessageId message) {
  const simulator::Template& t = of(message);
  const auto bytes = static_cast<double>(size(message));
  const double local = t.from == t.to && !t.combine ? bytes * _cost.per_byte.value() : 0;
  const double received = t.from == t.to ? 0 : _cost.receive.value();
  sleep(local + received + (t.combine ? bytes * _cost.combine_per_byte.value() : 0));
  complete(t.to);
  _executor.written(message);
  hand_out_posts();
}

void Replay::complete(Rank rank) {
  --_left[static_cast<std::size_t>(rank)];
  _last_exit = std::max(_last_exit, now());
}

/// What local transfers read they have read at once.
void Replay::hand_out_posts() {
  using Action = MessageExecutor::Action;
  _executor.hand_out([&](Action action, MessageId message, MessageId /*cause*/) {
    if (action == Action::read) return;
    const auto kind = action == Action::send      ? Inbox::Kind::post_send
                      : action == Action::receive ? Inbox::Kind::post_receive
                                                  : Inbox::Kind::write;
    inbox(action == Action::send ? of(message).from : of(message).to).put(now(), kind, message);
  });
}

} // namespace thalweg::bench
