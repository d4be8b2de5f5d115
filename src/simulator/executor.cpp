#include "simulator/executor.hpp"

namespace thalweg::simulator {

Executor::Executor(const Workload& workload, int window)
    : _workload(workload), _window(window),
      _longest_window(static_cast<std::size_t>(longest_window(window))),
      _ranks(static_cast<std::size_t>(workload.ranks)), _posted(workload.connections.size(), 0) {
  _messages.reserve(workload.sizes.size());
  for (std::int32_t segment = 0; segment < workload.pipeline.segments; ++segment)
    for (const Template& t : workload.templates)
      _messages.push_back({t.reads, t.writes});
}

void Executor::start() {
  if (_workload.skip_empty)
    for (MessageId id = 0; id < static_cast<MessageId>(_messages.size()); ++id)
      if (_workload.left_out(id))
        for (const bool sent : {false, true})
          release_dependents(id, sent);
}

void Executor::enter(Rank rank) {
  _cause = no_message;
  advance(rank);
}

bool Executor::all_posted() const {
  for (std::size_t rank = 0; rank < _ranks.size(); ++rank)
    if (_ranks[rank].next < _workload.operations[rank].size()) return false;
  for (std::size_t connection = 0; connection < _posted.size(); ++connection)
    if (_posted[connection] < _workload.traffic[connection].size()) return false;
  return true;
}

void Executor::sent(MessageId message) {
  _cause = message;
  const Rank rank = _workload.of(message).from;
  state(message).sent = true;
  --_ranks[static_cast<std::size_t>(rank)].sends;
  release_dependents(message, true);
  advance(rank);
}

void Executor::arrived(MessageId message) {
  _cause = message;
  const Rank rank = _workload.of(message).to;
  --_ranks[static_cast<std::size_t>(rank)].receives;
  advance(rank);
}

void Executor::received(MessageId message) {
  _cause = message;
  const Template& t = _workload.of(message);
  state(message).received = true;
  if (t.from == t.to) state(message).sent = true;
  release_dependents(message, false);
  advance(t.to);
}

void Executor::advance(Rank rank) {
  RankState& own = _ranks[static_cast<std::size_t>(rank)];
  const auto operations = _workload.operations[static_cast<std::size_t>(rank)];
  for (; own.next < operations.size() && !is_full(rank); ++own.next) {
    const auto [id, send] = operations[own.next];
    const Template& t = _workload.of(id);
    if (t.from != t.to) { // A local move takes no place in the window.
      int& open = send ? own.sends : own.receives;
      if (open >= _window) return;
      ++open;
    }
    if (send) {
      state(id).in_window = true;
      post_sends(t.connection);
    } else {
      _posts.push_back({id, Side::receive, _cause});
    }
  }
}

bool Executor::is_full(Rank rank) {
  RankState& own = _ranks[static_cast<std::size_t>(rank)];
  if (own.next - own.lowest < _longest_window) return false;
  const auto operations = _workload.operations[static_cast<std::size_t>(rank)];
  while (own.lowest < own.next && is_complete(operations[own.lowest]))
    ++own.lowest;
  return own.next - own.lowest >= _longest_window;
}

bool Executor::is_complete(Operation operation) const {
  const MessageState& message = _messages[static_cast<std::size_t>(operation.message)];
  return operation.send ? message.sent : message.received;
}

void Executor::post_sends(ConnectionId connection) {
  const auto traffic = _workload.traffic[static_cast<std::size_t>(connection)];
  std::size_t& posted = _posted[static_cast<std::size_t>(connection)];
  for (; posted < traffic.size(); ++posted) {
    const MessageState& message = state(traffic[posted]);
    if (!message.in_window || message.reads > 0) return;
    _posts.push_back({traffic[posted], Side::send, _cause});
  }
}

void Executor::release_dependents(MessageId message, bool sent) {
  const auto count = static_cast<MessageId>(_workload.transfers());
  const MessageId first = message - message % count;
  for (const auto [transfer, reads, waits_for_sender] :
       _workload.dependents[static_cast<std::size_t>(message % count)]) {
    if (waits_for_sender != sent) continue;
    const MessageId id = first + transfer;
    MessageState& waiting = state(id);
    if (reads && --waiting.reads == 0)
      post_sends(_workload.of(id).connection);
    else if (!reads && --waiting.writes == 0)
      _posts.push_back({id, Side::write, _cause});
  }
}

} // namespace thalweg::simulator
