#pragma once

#include "algorithms/algorithm.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

/// A slow and obvious model of a network, in which messages queue for ports, for trunks and
/// for the connection of their pair of ranks. Independent
/// of the simulator. It is as kind to schedules as physics allows: hosts take no time but for each
/// message's overheads, messages flow through without being stored, and wait for nothing
/// but their data. A trunk lies at one place: what goes through it reaches it as long after leaving
/// its sender as that is away from the trunk.
namespace thalweg::bounds::testing {

using algorithms::Problem;

class ReferenceModel {
public:
  /// By trunk, then by host: the seconds from the host to the trunk.
  using Places = std::vector<std::vector<double>>;

  ReferenceModel(const Problem& problem, Places places, const network::MessageCost& cost = {})
      : _cost(cost), _collective(problem.collective), _network(problem.network),
        _placement(problem.placement), _places(std::move(places)) {}
  /// Draws each trunk's place, as far from one sender as from the other.
  static Places draw_places(const network::Network& network, std::uint32_t seed) {
    std::mt19937 random(seed);
    Places places;
    for (const network::Trunk& trunk : network.trunks) {
      double nearest = std::numeric_limits<double>::infinity();
      for (const network::HostId from : trunk.from)
        for (const network::HostId to : trunk.to)
          if (from != to) nearest = std::min(nearest, network.latency(from, to).value());
      places.emplace_back(network.hosts.size(), nearest * static_cast<double>(random() % 5) / 4);
    }
    return places;
  }

  ReferenceModel(const Problem& problem, std::uint32_t seed, const network::MessageCost& cost = {})
      : ReferenceModel(problem, draw_places(problem.network, seed), cost) {}

  /// When the last transfer of the schedule ends.
  double run(const schedule::Schedule& schedule) {
    list_messages(schedule);
    for (std::size_t message = 0; message < _messages.size(); ++message)
      if (_messages[message].missing == 0) _events.push({0, message, 0});
    double last = 0;
    while (!_events.empty()) {
      const Event event = _events.top();
      _events.pop();
      if (event.stage < 6) {
        advance(event);
        continue;
      }
      if (counts(_messages[event.message])) last = std::max(last, event.time);
      for (const std::size_t waiting : _messages[event.message].awaited_by)
        if (--_messages[waiting].missing == 0) _events.push({event.time, waiting, 0});
    }
    return last;
  }

private:
  struct Message {
    schedule::Step step;
    std::int32_t segment;
    const schedule::Transfer* transfer;
    double bytes = 0, end = 0;
    int missing = 0;
    std::vector<std::size_t> awaited_by = {};
  };
  /// The first byte of a message reaches the next resource on its path.
  struct Event {
    double time;
    std::size_t message;
    int stage; ///< 0 CPU, 1 egress, 2 connection and trunks, 3 ingress, 4 last byte, 5 CPU, 6 the
               ///< end
    bool operator>(const Event& other) const {
      return std::tie(time, message, stage) > std::tie(other.time, other.message, other.stage);
    }
  };

  /// The messages in the order of the steps; each awaits the earlier messages that write the chunks
  /// it reads.
  void list_messages(const schedule::Schedule& schedule) {
    const schedule::Pipeline pipeline = schedule.pipeline();
    const schedule::Layout layout = schedule.layout(_collective);
    for (std::int32_t segment = 0; segment < pipeline.segments; ++segment)
      for (const schedule::Transfer& t : schedule.transfers())
        _messages.push_back({t.step + segment * pipeline.period, segment, &t});
    std::ranges::stable_sort(_messages, {}, &Message::step);
    std::map<std::tuple<std::int32_t, std::int32_t, schedule::ChunkId>, std::vector<std::size_t>>
        writers;
    for (std::size_t at = 0; at < _messages.size(); ++at)
      for_each_chunk(at, [&](schedule::ChunkId chunk) {
        Message& message = _messages[at];
        message.bytes += static_cast<double>(layout.interval(message.segment, chunk).size());
        writers[{message.transfer->to, message.segment, chunk}].push_back(at);
      });
    for (std::size_t at = 0; at < _messages.size(); ++at)
      for_each_chunk(at, [&](schedule::ChunkId chunk) {
        for (const std::size_t writer :
             writers[{_messages[at].transfer->from, _messages[at].segment, chunk}])
          if (_messages[writer].step < _messages[at].step) {
            ++_messages[at].missing;
            _messages[writer].awaited_by.push_back(at);
          }
      });
  }

  template <class Visit>
  void for_each_chunk(std::size_t message, Visit visit) {
    for (const schedule::Range& range : _messages[message].transfer->what)
      for (schedule::ChunkId i = 0; i < range.count; ++i)
        visit(range.first + i * range.stride);
  }

  /// Queues for a resource; returns when the first byte passes.
  double pass(const void* resource, units::Rate rate, double start, Message& message,
              double way_left) {
    double& free = _free[resource];
    const double first = std::max(start, free);
    free = first + message.bytes / rate.value();
    message.end = std::max(message.end, free + way_left);
    return first;
  }

  void advance(const Event& event) {
    Message& message = _messages[event.message];
    const network::HostId from = _placement[index(message.transfer->from)];
    const network::HostId to = _placement[index(message.transfer->to)];
    const network::Host &sender = _network.hosts[index(from)],
                        &receiver = _network.hosts[index(to)];
    const double latency = _network.latency(from, to).value();
    double time = event.time;
    if (from == to || !counts(message)) {
      _events.push({time, event.message, 6});
      return;
    }
    if (event.stage == 0) {
      time = occupy(from, _cost.send.value(), time);
    } else if (event.stage == 1) {
      time = pass(&sender.egress, sender.egress, time, message, latency);
    } else if (event.stage == 2) {
      time = pass(&_connections[{message.transfer->from, message.transfer->to}],
                  _network.bandwidth(from, to), time, message, latency);
      std::vector<std::pair<double, const network::Trunk*>> crossed; // the nearest first
      for (std::size_t at = 0; at < _network.trunks.size(); ++at)
        if (const network::Trunk& trunk = _network.trunks[at];
            std::ranges::find(trunk.from, from) != trunk.from.end() &&
            std::ranges::find(trunk.to, to) != trunk.to.end())
          crossed.emplace_back(_places[at][index(from)], &trunk);
      std::ranges::sort(crossed);
      double passed = 0;
      for (const auto& [place, trunk] : crossed) {
        time = pass(trunk, trunk->capacity, time + place - passed, message, latency - place);
        passed = place;
      }
      time += latency - passed;
    } else if (event.stage == 3) {
      pass(&receiver.ingress, receiver.ingress, time, message, 0);
    } else if (event.stage == 4) {
      time = std::max(time, message.end);
    } else {
      time = occupy(to, _cost.receive.value(), time);
    }
    _events.push({time, event.message, event.stage + 1});
  }

  /// Whether a message without bytes takes time: only where none has any.
  [[nodiscard]] bool counts(const Message& message) const {
    return message.bytes > 0 || _collective.total() == 0;
  }

  /// A host's CPU is busy with a message.
  double occupy(network::HostId host, double duration, double start) {
    double& free = _cpu_free[host];
    free = std::max(start, free) + duration;
    return free;
  }

  network::MessageCost _cost;
  std::map<network::HostId, double> _cpu_free;
  std::map<std::pair<collective::Rank, collective::Rank>, char>
      _connections; ///< for their addresses
  const collective::Collective& _collective;
  const network::Network& _network;
  const network::Placement& _placement;
  Places _places;
  std::map<const void*, double> _free;
  std::vector<Message> _messages;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> _events;
};

} // namespace thalweg::bounds::testing
