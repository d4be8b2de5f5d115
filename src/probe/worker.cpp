#include "probe/worker.hpp"

#include "probe/collectives.hpp"
#include "probe/coordinator.hpp"
#include "probe/costs.hpp"
#include "probe/ping_pong.hpp"
#include "probe/transfer.hpp"

#include <limits>

namespace thalweg::probe {
namespace {

Words perform(const Channel& channel, const Words& order) {
  switch (static_cast<Command>(order.front())) {
  case Command::latency:
    return take_turns(channel, order);
  case Command::transfer:
    return transfer(channel, order);
  case Command::cost:
    return time_messages(channel, order);
  case Command::eager:
    return find_eager_limit(channel, order);
  case Command::echo:
    return echo(channel, order);
  case Command::collective:
    return time_collective(channel, order);
  case Command::stop:
    break;
  }
  throw std::logic_error("an order of the probe is unknown");
}

} // namespace

Words carry_out(const Channel& channel, const Words& order) {
  try {
    auto reply = perform(channel, order);
    reply.insert(reply.begin(), -1);
    return reply;
  } catch (const Silence& silence) {
    return {silence.rank};
  }
}

int silent_peer(const Words& reply) { return static_cast<int>(reply.front()); }

void serve(const Channel& channel) {
  // Rank 0 may wait for others first; the watchdog ends a rank that is waited for in vain.
  constexpr auto never = std::numeric_limits<Nanoseconds>::max();
  for (;;) {
    const auto order = channel.receive(0, Tag::order);
    if (static_cast<Command>(order.front()) == Command::stop) return;
    channel.send(0, Tag::reply, carry_out(channel, order), never);
  }
}

} // namespace thalweg::probe
