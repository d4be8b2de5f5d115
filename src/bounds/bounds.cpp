#include "bounds/bounds.hpp"

#include "bounds/cut.hpp"
#include "bounds/reach.hpp"
#include "bounds/reason.hpp"
#include "bounds/windows.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace thalweg::bounds {
namespace {

using collective::Kind;
using network::HostId;
using units::Size;

/// Beyond so many hosts cuts are left out: the other bounds remain.
constexpr HostId most_hosts_for_cuts = 128;

std::size_t index(HostId host) { return static_cast<std::size_t>(host); }

/// Collects bounds of one operation; the largest counts.
class Largest {
public:
  Largest(const Reach& reach, Size size)
      : _reach(reach), _size(size), _bytes(static_cast<double>(size)) {}

  /// All data goes from one host to another: past the ports of both, and along the way.
  void add_way(HostId from, HostId to) {
    const double latency = _reach.distance(from, to);
    raise(latency,
          [&] { return "latency " + way(from, to) + ": " + units::to_text(Time(latency)); });
    add_port(_reach.egress[index(from)], "egress of ", from, from, to);
    add_port(_reach.ingress[index(to)], "ingress of ", to, from, to);
  }

  /// The same, past any set of ports, pairs and trunks.
  void add_cuts(Cuts& cuts, HostId from, HostId to) {
    Cuts::Result result = cuts.exceed(_bound.time.value(), from, to, _size);
    if (!result.reason.empty()) _bound = {Time(result.time), std::move(result.reason)};
  }

  /// The hosts together send, or receive, the data so many times.
  void add_total(std::int64_t times, const std::string& direction, std::vector<Window> windows) {
    double rate = 0;
    for (const Window& window : windows)
      rate += window.capacity;
    if (rate == Reach::unlimited) return;
    const double time = least_time(std::move(windows), static_cast<double>(times) * _bytes);
    raise(time, [&] {
      return reason(direction + " of all " + std::to_string(_reach.size()) + " hosts", times, _size,
                    rate, time);
    });
  }

  [[nodiscard]] Bound bound() && { return std::move(_bound); }

private:
  void add_port(double rate, const char* which, HostId host, HostId from, HostId to) {
    if (rate == Reach::unlimited) return;
    const double time = _bytes / rate + _reach.distance(from, to);
    raise(time, [&] {
      return reason(which + _reach.names[index(host)] + ", " + way(from, to), 1, _size, rate, time);
    });
  }
  template <class Reason>
  void raise(double time, Reason reason_of) {
    if (time > _bound.time.value()) _bound = {Time(time), reason_of()};
  }
  [[nodiscard]] std::string way(HostId from, HostId to) const {
    return _reach.names[index(from)] + " -> " + _reach.names[index(to)];
  }

  const Reach& _reach;
  Size _size;
  double _bytes;
  Bound _bound;
};

/// What a host can send, or receive, per second: its port, or if that isn't known all its pairs.
double port(const Reach& reach, HostId host, bool sends) {
  const double known = (sends ? reach.egress : reach.ingress)[index(host)];
  if (known < Reach::unlimited) return known;
  double sum = 0;
  for (HostId other = 0; other < reach.size(); ++other)
    if (other != host)
      sum += sends ? std::min(reach.ingress[index(other)], reach.pairs(host, other))
                   : std::min(reach.egress[index(other)], reach.pairs(other, host));
  return sum;
}

/// The least latency of a pair that begins, or ends, at a host.
double nearest(const Reach& reach, HostId host, bool sends) {
  double least = Reach::unlimited;
  for (HostId other = 0; other < reach.size(); ++other)
    if (other != host)
      least = std::min(least, sends ? reach.latency(host, other) : reach.latency(other, host));
  return least;
}

/// One window per host: its port, and in how much of the time nothing that counts passes.
std::vector<Window> ports(const Reach& reach, bool send,
                          const std::function<double(HostId)>& latency) {
  std::vector<Window> windows;
  for (HostId host = 0; host < reach.size(); ++host)
    windows.push_back({port(reach, host, send), latency(host)});
  return windows;
}

/// Every host but the root's receives all of the data, sent by some host; and in a reduction sends
/// it, to some host, since what it has combined is as long as what it began with.
void add_rooted(const Reach& reach, HostId root, bool from_root, Largest& largest) {
  const auto for_each_way = [&](auto visit) {
    for (HostId host = 0; host < reach.size(); ++host)
      if (host != root) from_root ? visit(root, host) : visit(host, root);
  };
  for_each_way([&](HostId from, HostId to) { largest.add_way(from, to); });
  // A port doesn't help before the root's data can be there, nor when its own can't arrive any
  // more.
  largest.add_total(reach.size() - 1, from_root ? "egress" : "ingress",
                    ports(reach, from_root, [&](HostId host) {
                      return nearest(reach, host, from_root) +
                             (from_root ? reach.distance(root, host) : reach.distance(host, root));
                    }));
  if (reach.size() > most_hosts_for_cuts) return;
  Cuts cuts(reach);
  for_each_way([&](HostId from, HostId to) { largest.add_cuts(cuts, from, to); });
}

/// For each element some host is the first to have the result. The others' contributions reached it
/// in H - 1 messages or more, and each of the others receives one more: gossip by one-way calls
/// takes 2 (H - 1) (Harary, Schwenk: The Communication Problem on Graphs and Digraphs).
void add_allreduce(const Reach& reach, Largest& largest) {
  for (HostId from = 0; from < reach.size(); ++from)
    for (HostId to = 0; to < reach.size(); ++to)
      if (from != to) largest.add_way(from, to);
  const std::int64_t messages = 2 * (std::int64_t{reach.size()} - 1);
  const auto next = [&](HostId host) { return nearest(reach, host, true); };
  const auto previous = [&](HostId host) { return nearest(reach, host, false); };
  largest.add_total(messages, "egress", ports(reach, true, next));
  largest.add_total(messages, "ingress", ports(reach, false, previous));
  if (reach.size() > most_hosts_for_cuts) return;
  // Whatever parts two hosts parts one of them from host 0, so these find the narrowest cut.
  Cuts cuts(reach);
  for (HostId host = 1; host < reach.size(); ++host) {
    largest.add_cuts(cuts, 0, host);
    largest.add_cuts(cuts, host, 0);
  }
}

} // namespace

Bound bound(const Problem& problem) {
  const collective::Collective& collective = problem.collective;
  const Kind kind = collective.kind;
  if (kind != Kind::bcast && kind != Kind::reduce && kind != Kind::allreduce)
    throw std::invalid_argument("no bound is known yet for " +
                                std::string(collective::to_text(kind)) +
                                "; there are bounds for bcast, reduce and allreduce");
  const Reach reach(problem);
  if (collective.size == 0) return {Time(), "no data"};
  if (reach.size() == 1) return {Time(), "all ranks are on " + reach.names.front()};
  Largest largest(reach, collective.size);
  if (kind == Kind::allreduce)
    add_allreduce(reach, largest);
  else
    add_rooted(reach, reach.host_of_rank[static_cast<std::size_t>(collective.root)],
               kind == Kind::bcast, largest);
  return std::move(largest).bound();
}

} // namespace thalweg::bounds
