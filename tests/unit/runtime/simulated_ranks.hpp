#pragma once

#include "runtime/execute/credit.hpp"
#include "runtime/execute/execution.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

/// Many ranks in one process, which keep to their credit. Messages complete in a random order; a
/// send is eager (it may complete before its receive is posted) or not, at random; data is read as
/// late and written as early as allowed.
namespace thalweg::test {

using collective::Rank;
using runtime::Transport;

using Unit = std::uint64_t;

/// Neither commutative nor associative, so that every mistake in the order shows.
inline Unit combined(Unit left, Unit right) { return left * 31 + right * 17 + 1; }

class FakeNetwork {
public:
  FakeNetwork(Rank ranks, unsigned seed) : _ready(static_cast<std::size_t>(ranks)), _random(seed) {}

  struct Side {
    Transport::Token token;
    Unit* data;
    std::int64_t units;
  };
  struct Pair {
    std::deque<Side> sends, receives;
    std::deque<std::vector<Unit>> buffered; ///< of eager sends that are complete, before `sends`
    std::deque<Side> deferred;              ///< without credit
    runtime::Credit credit;
    runtime::CreditReceiver receiver;
    std::deque<bool> acknowledged; ///< by posted receive: whether it will be
    std::size_t arriving = 0;      ///< acknowledgements that haven't arrived
  };

  Pair& pair(Rank from, Rank to) { return _pairs[{from, to}]; }
  void send(Pair& pair, const Side& message, int window) {
    if (!pair.deferred.empty() || !pair.credit.may_send(window)) {
      pair.deferred.push_back(message);
      return;
    }
    pair.credit.sent(message.units);
    pair.sends.push_back(message);
    most_unexpected = std::max(most_unexpected, pair.sends.size() + pair.buffered.size());
  }

  /// Completes something at random; the rank and token it completed, or false if there is nothing.
  bool complete_one();
  std::vector<Transport::Token>& ready(Rank rank) { return _ready[static_cast<std::size_t>(rank)]; }
  bool may_buffer = true;
  int window = 1;                  ///< of all ranks, for their credit
  std::size_t most_unexpected = 0; ///< messages of a pair

private:
  std::map<std::pair<Rank, Rank>, Pair> _pairs;
  std::vector<std::vector<Transport::Token>> _ready;
  std::mt19937 _random;
};

inline bool FakeNetwork::complete_one() {
  struct Choice {
    std::pair<Rank, Rank> ranks;
    Pair* pair;
    enum class What : std::uint8_t { receive, buffer, acknowledge } what;
  };
  using enum Choice::What;
  std::vector<Choice> choices;
  for (auto& [ranks, pair] : _pairs) {
    if (!pair.receives.empty() && (!pair.buffered.empty() || !pair.sends.empty()))
      choices.push_back({ranks, &pair, receive});
    if (may_buffer && !pair.sends.empty()) choices.push_back({ranks, &pair, buffer});
    if (pair.arriving > 0) choices.push_back({ranks, &pair, acknowledge});
  }
  if (choices.empty()) return false;
  const auto [ranks, pair, what] =
      choices[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(_random)];
  if (what == acknowledge) {
    --pair->arriving;
    pair->credit.acknowledged();
    std::deque<Side> waiting;
    std::swap(waiting, pair->deferred);
    for (const Side& message : waiting)
      send(*pair, message, window);
    return true;
  }
  if (what == buffer) {
    const Side send = pair->sends.front();
    pair->sends.pop_front();
    pair->buffered.emplace_back(send.data, send.data + send.units);
    ready(ranks.first).push_back(send.token);
    return true;
  }
  const Side receiving = pair->receives.front();
  pair->receives.pop_front();
  pair->arriving += pair->acknowledged.front() ? 1 : 0;
  pair->acknowledged.pop_front();
  std::vector<Unit> data;
  if (!pair->buffered.empty()) {
    data = std::move(pair->buffered.front());
    pair->buffered.pop_front();
  } else {
    const Side send = pair->sends.front();
    pair->sends.pop_front();
    data.assign(send.data, send.data + send.units);
    ready(ranks.first).push_back(send.token);
  }
  if (static_cast<std::int64_t>(data.size()) != receiving.units)
    throw std::logic_error("sent and received sizes differ");
  std::ranges::copy(data, receiving.data);
  ready(ranks.second).push_back(receiving.token);
  return true;
}

class FakeTransport final : public Transport {
public:
  FakeTransport(FakeNetwork& network, Rank rank) : _network(network), _rank(rank) {}

  void send(Token token, Rank to, const std::byte* data, std::int64_t units) override {
    _network.send(_network.pair(_rank, to), {token, unit(data), units}, _network.window);
  }
  void receive(Token token, Rank from, std::byte* data, std::int64_t units) override {
    FakeNetwork::Pair& pair = _network.pair(from, _rank);
    pair.receives.push_back({token, unit(data), units});
    pair.acknowledged.push_back(pair.receiver.posted());
  }
  std::span<const Token> wait() override { throw std::logic_error("the test drives completion"); }
  void copy(const std::byte* from, std::byte* to, std::int64_t units) override {
    std::memmove(to, from, static_cast<std::size_t>(units) * sizeof(Unit));
  }
  void combine(const std::byte* left, std::byte* right, std::int64_t units) override {
    for (std::int64_t i = 0; i < units; ++i)
      unit(right)[i] = combined(unit(left)[i], unit(right)[i]);
  }

private:
  static Unit* unit(const std::byte* data) {
    return reinterpret_cast<Unit*>(const_cast<std::byte*>(data));
  }
  FakeNetwork& _network;
  Rank _rank;
};

/// What one rank executes, and where its data lies.
struct RankPart {
  const runtime::Program* program;
  runtime::Layout layout;
  runtime::Places places;
  int window;
};

/// Runs the ranks' parts. Returns the most messages of a pair that were unexpected at a time. Fails
/// by exception on a deadlock.
inline std::size_t run(const std::vector<RankPart>& parts, unsigned seed, bool may_buffer = true) {
  FakeNetwork network(static_cast<Rank>(parts.size()), seed);
  network.may_buffer = may_buffer;
  for (const RankPart& part : parts)
    network.window = std::max(network.window, part.window);
  std::mt19937 random(seed + 1);
  std::vector<std::unique_ptr<FakeTransport>> transports;
  std::vector<runtime::Execution> executions(parts.size());
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    transports.push_back(std::make_unique<FakeTransport>(network, static_cast<Rank>(rank)));
    runtime::Task task;
    task.places = &parts[rank].places;
    task.shape = {.extent = sizeof(Unit),
                  .true_lower_bound = 0,
                  .true_extent = sizeof(Unit),
                  .bytes = sizeof(Unit)};
    task.window = parts[rank].window;
    executions[rank].start(*parts[rank].program, parts[rank].layout, task, *transports[rank]);
  }
  const auto deliver = [&](std::size_t rank) {
    auto& ready = network.ready(static_cast<Rank>(rank));
    if (ready.empty()) return;
    std::ranges::shuffle(ready, random);
    std::vector<Transport::Token> tokens;
    std::swap(tokens, ready);
    for (const auto token : tokens)
      executions[rank].complete(token);
    executions[rank].advance();
  };
  while (true) {
    const bool moved = network.complete_one();
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      if (!moved || random() % 3 == 0) deliver(rank);
    if (moved) continue;
    bool waiting = false;
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      waiting |= !network.ready(static_cast<Rank>(rank)).empty();
    if (waiting || network.complete_one()) continue;
    for (const auto& execution : executions)
      if (!execution.finished()) throw std::runtime_error("deadlock");
    return network.most_unexpected;
  }
}

} // namespace thalweg::test
