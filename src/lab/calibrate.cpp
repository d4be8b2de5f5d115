#include "lab/calibrate.hpp"

#include "lab/clock.hpp"
#include "lab/cores.hpp"
#include "lab/host.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <cstring>
#include <future>
#include <latch>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace thalweg::lab {
namespace {

constexpr std::uint16_t frame_type = 0x88b5; // for experiments, IEEE 802
constexpr int repetitions = 48;
using Bytes = std::array<unsigned char, 1024>;

/// The far end: a network namespace with the TAP's interface and a raw socket on it.
struct FarEnd {
  Descriptor tap, socket;
};

FarEnd make_far_end() {
  check(unshare(CLONE_NEWNET), "a network namespace to calibrate in");
  FarEnd end{open_tap(interface_name, 0), Descriptor()};
  end.socket =
      Descriptor(check(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(frame_type)), "socket"));
  ifreq request{};
  std::snprintf(request.ifr_name, IFNAMSIZ, "%s", interface_name);
  request.ifr_flags = IFF_UP;
  check(ioctl(end.socket.get(), SIOCSIFFLAGS, &request), "SIOCSIFFLAGS");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(frame_type);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface_name));
  check(bind(end.socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
  const int on = 1;
  check(setsockopt(end.socket.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on), "SO_TIMESTAMPNS");
  return end;
}

/// Returns an Ethernet frame with the current time, preceded by `gap` zero bytes.
Bytes stamped_frame(std::size_t gap, clockid_t clock) {
  Bytes bytes{};
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(gap), 6,
              static_cast<unsigned char>(0xff));
  bytes[gap + 12] = frame_type >> 8;
  bytes[gap + 13] = frame_type & 0xff;
  const auto stamp = now(clock);
  std::memcpy(bytes.data() + gap + 14, &stamp, sizeof stamp);
  return bytes;
}

Instant stamp_of(const Bytes& bytes, std::size_t gap) {
  Instant stamp = 0;
  std::memcpy(&stamp, bytes.data() + gap + 14, sizeof stamp);
  return stamp;
}

/// Returns the value that a tenth doesn't exceed. Other work on this machine makes single frames
/// slow, never fast, and what is assumed too high would make every latency too short.
Instant lowest_tenth(std::vector<Instant> values) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 10);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// Sends one frame into the switch and returns the time from the sender's call until the switch has
/// read it.
Instant read_cost(const FarEnd& end, bool asleep) {
  Bytes bytes{};
  pollfd wait{end.tap.get(), POLLIN, 0};
  for (;;) {
    while (poll(&wait, 1, asleep ? -1 : 0) == 0) {
    }
    const auto got = read(end.tap.get(), bytes.data(), bytes.size());
    const bool ours = got > 0 && bytes[tap_header + 12] == frame_type >> 8 &&
                      bytes[tap_header + 13] == (frame_type & 0xff);
    if (ours) return now() - stamp_of(bytes, tap_header);
  }
}

/// Sends one frame out of the switch and returns the time from its call until the receiver's
/// network stack has it.
Instant write_cost(const FarEnd& end) {
  const auto bytes = stamped_frame(tap_header, CLOCK_REALTIME);
  check(write(end.tap.get(), bytes.data(), bytes.size()), "write to a TAP");
  Bytes received{};
  iovec part{received.data(), received.size()};
  alignas(cmsghdr) std::array<char, 128> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  check(recvmsg(end.socket.get(), &message, 0), "recvmsg");
  timespec stamp{};
  if (const auto* header = CMSG_FIRSTHDR(&message); header != nullptr)
    std::memcpy(&stamp, CMSG_DATA(header), sizeof stamp);
  return static_cast<Instant>(stamp.tv_sec) * 1'000'000'000 + stamp.tv_nsec - stamp_of(received, 0);
}

} // namespace

OwnCost calibrate(int core) {
  // A separate thread takes its network namespace along; the socket keeps that alive.
  const auto end = std::async(std::launch::async, make_far_end).get();
  const auto cost_of_reads = [&](bool asleep) {
    std::latch away(1); // a thread still on our core would wait for our polling to end
    std::jthread source([&] {
      become_ordinary(core);
      away.count_down();
      for (int each = 0; each < repetitions; ++each) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const auto bytes = stamped_frame(0, CLOCK_MONOTONIC);
        send(end.socket.get(), bytes.data(), bytes.size(), 0);
      }
    });
    away.wait();
    std::vector<Instant> values;
    for (int each = 0; each < repetitions; ++each)
      values.push_back(read_cost(end, asleep));
    return lowest_tenth(values);
  };
  std::vector<Instant> writes;
  for (int each = 0; each < repetitions; ++each)
    writes.push_back(write_cost(end));
  return {cost_of_reads(false), cost_of_reads(true), lowest_tenth(writes)};
}

} // namespace thalweg::lab
