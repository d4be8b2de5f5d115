#include "lab/forwarder.hpp"

#include "lab/clock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <sys/epoll.h>
#include <unistd.h>

namespace thalweg::lab {
namespace {

/// Polling continues this long after the last frame and begins this long before the next delivery:
/// longer than a wake-up takes, and short enough to leave the core to others when nothing moves.
constexpr Instant keep_polling = 200'000;
constexpr Instant poll_before = 80'000;
/// A real-time task that never rests starves all others of its core, and the kernel then stops it
/// for 50 ms in each second. Short rests at harmless moments, a fixed share of the time, prevent
/// that; an overdue rest is taken at any moment.
constexpr Instant rest = 60'000;
constexpr double rest_share = 0.08;
constexpr Instant overdue = 2'000'000;
/// Frames taken from one host before the others have their turn.
constexpr int frames_a_turn = 8;

constexpr std::uint32_t control_event = 0xffff'ffff;
constexpr std::uint32_t death_event = 0x8000'0000;

void watch(int epoll, int fd, std::uint32_t number) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = number;
  check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

/// Returns the host an Ethernet frame is for, from the hardware address that open_tap() gave it.
HostId destination(const unsigned char* frame) { return frame[4] << 8 | frame[5]; }
bool is_for_a_host(const unsigned char* frame) { return frame[0] == 0x02 && frame[1] == 0x54; }

} // namespace

Forwarder::Forwarder(Fabric& fabric, const std::vector<HostProcess>& hosts, Control& control,
                     Counters& counters, Rotation& rotation, OwnCost cost)
    : _fabric(fabric), _hosts(hosts), _control(control), _counters(counters), _rotation(rotation),
      _cost(cost), _epoll(check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
  for (std::uint32_t host = 0; host < hosts.size(); ++host) {
    watch(_epoll.get(), hosts[host].tap.get(), host);
    watch(_epoll.get(), hosts[host].process.get(), host | death_event);
  }
  watch(_epoll.get(), control.fd(), control_event);
}

void Forwarder::run() {
  _counters.started = _awake_since = _last_activity = _last_look = now();
  while (!_control.stopped()) {
    const Instant before = now();
    const auto next = _fabric.next_delivery();
    const Instant free = next ? *next - before - poll_before : 3'600'000'000'000;
    if (free > 0 && before - _last_activity >= keep_polling) {
      handle(free, _cost.asleep);
      account_rest(before);
    } else {
      handle(0, _cost.awake);
      rest_sometimes();
    }
  }
}

void Forwarder::handle(Instant patience, Instant own_cost) {
  std::array<epoll_event, 64> events{};
  const timespec timeout{patience / 1'000'000'000, patience % 1'000'000'000};
  const int ready = epoll_pwait2(_epoll.get(), events.data(), events.size(), &timeout, nullptr);
  if (ready < 0 && errno != EINTR) check(ready, "epoll_pwait2");
  const Instant begin = now();
  // Asleep it is woken by the first frame; polling, it may have been kept from looking.
  _unseen = patience > 0 ? 0 : std::max<Instant>(0, begin - _last_look - rest - poll_before);
  _last_look = begin;
  for (int each = 0; each < ready; ++each) {
    const auto number = events[static_cast<std::size_t>(each)].data.u32;
    if (number == control_event)
      _control.serve();
    else if ((number & death_event) != 0)
      throw std::runtime_error("host " + _hosts[number & ~death_event].name + " has died");
    else
      take_frames(number, own_cost);
  }
  if (deliver_due() || ready > 0) {
    _last_activity = now();
    _rotation.touch(_last_activity);
    _counters.busy += _last_activity - begin;
  }
}

void Forwarder::rest_sometimes() {
  const Instant begin = now();
  const Instant owed = owed_rest(begin);
  const auto next = _fabric.next_delivery();
  const bool harmless = !next || *next - begin > rest + poll_before;
  if (owed > overdue || (owed > rest && harmless)) {
    const timespec duration{0, rest};
    nanosleep(&duration, nullptr);
    account_rest(begin);
  }
}

Instant Forwarder::owed_rest(Instant now) const {
  return _owed + static_cast<Instant>(rest_share * static_cast<double>(now - _awake_since));
}

void Forwarder::account_rest(Instant begin) {
  const Instant owed = owed_rest(begin);
  _awake_since = now();
  _owed = std::max<Instant>(0, owed - (_awake_since - begin));
}

void Forwarder::take_frames(std::size_t host, Instant own_cost) {
  for (int each = 0; each < frames_a_turn && take_frame(host, own_cost); ++each) {
    deliver_due();
    own_cost = _cost.awake;
  }
}

bool Forwarder::take_frame(std::size_t host, Instant own_cost) {
  const auto slot = _frames.take();
  auto& bytes = _frames[slot];
  const auto got = read(_hosts[host].tap.get(), bytes.data(), bytes.size());
  const auto* frame = bytes.data() + tap_header;
  if (got <= static_cast<ssize_t>(tap_header + 14) || !is_for_a_host(frame) ||
      destination(frame) >= static_cast<HostId>(_hosts.size())) {
    _frames.give_back(slot);
    _counters.strays += got > 0 ? 1U : 0U;
    return got > 0;
  }
  const auto size = static_cast<std::int32_t>(got) - static_cast<std::int32_t>(tap_header);
  const Frame taken{static_cast<HostId>(host), destination(frame), size, slot};
  if (_unseen > 0) note_lateness(taken, _unseen);
  _fabric.submit(taken, now() - own_cost);
  return true;
}

bool Forwarder::deliver_due() {
  bool any = false;
  while (const auto outcome = _fabric.step(now() + _cost.write)) {
    deliver(*outcome);
    any = true;
  }
  return any;
}

void Forwarder::note_lateness(const Frame& frame, Instant late) {
  if (late * late_share <= _fabric.latency(frame.from, frame.to)) return;
  ++_counters.late;
  _counters.lateness.add(late);
}

void Forwarder::deliver(const Outcome& outcome) {
  const auto& frame = outcome.frame;
  ++_counters.frames[static_cast<std::size_t>(outcome.fate)];
  if (outcome.fate == Fate::delivered) {
    note_lateness(frame, now() + _cost.write - outcome.at);
    const auto size = static_cast<std::size_t>(frame.size) + tap_header;
    const int tap = _hosts[static_cast<std::size_t>(frame.to)].tap.get();
    _counters.refused += write(tap, _frames[frame.buffer].data(), size) < 0 ? 1U : 0U;
    const auto pair =
        static_cast<std::size_t>(frame.from) * _hosts.size() + static_cast<std::size_t>(frame.to);
    _counters.pair_bytes[pair] += static_cast<std::uint64_t>(frame.size);
    ++_counters.pair_frames[pair];
  }
  _frames.give_back(frame.buffer);
}

} // namespace thalweg::lab
