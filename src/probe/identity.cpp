#include "probe/identity.hpp"

#include "network/host_names.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <ifaddrs.h>
#include <limits>
#include <map>
#include <net/if.h>
#include <sstream>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thalweg::probe {
namespace {

constexpr std::int64_t clock_tolerance = 20'000;

std::int64_t nanoseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Returns the best of a few readings: the process may be interrupted between the two clocks.
std::int64_t clock_origin() {
  std::int64_t best = 0, shortest = std::numeric_limits<std::int64_t>::max();
  for (int k = 0; k < 20; ++k) {
    const auto before = nanoseconds(CLOCK_MONOTONIC), real = nanoseconds(CLOCK_REALTIME);
    const auto after = nanoseconds(CLOCK_MONOTONIC);
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = real - (before + after) / 2;
  }
  return best;
}

/// Returns the smallest MTU of the interfaces that have an address; 0 if there are none.
std::int64_t smallest_mtu() {
  std::int64_t least = 0;
  ifaddrs* all = nullptr;
  const int any_socket = socket(AF_INET, SOCK_DGRAM, 0);
  if (any_socket < 0 || getifaddrs(&all) != 0) all = nullptr;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    constexpr unsigned in_use = IFF_UP | IFF_RUNNING;
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & in_use) != in_use || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    ifreq request{};
    std::strncpy(request.ifr_name, each->ifa_name, sizeof request.ifr_name - 1);
    if (ioctl(any_socket, SIOCGIFMTU, &request) == 0 && (least == 0 || request.ifr_mtu < least))
      least = request.ifr_mtu;
  }
  if (all != nullptr) freeifaddrs(all);
  if (any_socket >= 0) close(any_socket);
  return least;
}

/// Returns ten segments (RFC 6928) or the receiver's first buffer, unless idle connections keep
/// their window. An estimate, since MPI doesn't tell which interface it uses.
std::int64_t initial_window() {
  std::int64_t restarts = 0, smallest_buffer = 0, receive_buffer = 0;
  std::ifstream("/proc/sys/net/ipv4/tcp_slow_start_after_idle") >> restarts;
  std::ifstream("/proc/sys/net/ipv4/tcp_rmem") >> smallest_buffer >> receive_buffer;
  constexpr std::int64_t headers = 52; // IP, TCP, time stamps
  const std::int64_t segment = smallest_mtu() - headers;
  if (restarts == 0 || segment <= 0) return 0;
  return receive_buffer > 0 ? std::min(10 * segment, receive_buffer / 2) : 10 * segment;
}

std::string what_user_calls(std::span<const std::string> listed, std::size_t rank) {
  return rank < listed.size() ? listed[rank] : "rank " + std::to_string(rank);
}

} // namespace

Identity identify() {
  Identity identity;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  identity.name = name.data();
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), identity.boot);
  struct stat status {};
  if (stat("/proc/self/ns/net", &status) == 0) identity.network = std::to_string(status.st_ino);
  identity.clock_origin = clock_origin();
  identity.initial_window = initial_window();
  return identity;
}

std::string to_text(const Identity& identity) {
  return identity.name + '\n' + identity.boot + '\n' + identity.network + '\n' +
         std::to_string(identity.clock_origin) + '\n' + std::to_string(identity.initial_window);
}

Identity identity_from_text(const std::string& text) {
  std::istringstream stream(text);
  Identity identity;
  std::string origin;
  std::getline(stream, identity.name);
  std::getline(stream, identity.boot);
  std::getline(stream, identity.network);
  std::getline(stream, origin);
  identity.clock_origin = std::strtoll(origin.c_str(), nullptr, 10);
  stream >> identity.initial_window;
  return identity;
}

std::vector<std::string> host_names(std::span<const Identity> ranks,
                                    std::span<const std::string> listed, bool one_machine) {
  std::map<std::pair<std::string, std::string>, std::size_t> machines;
  std::map<std::string, std::size_t> by_name;
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto& [name, boot, network, origin, window] = ranks[rank];
    const auto [same, is_new] = machines.try_emplace({boot, network}, rank);
    if (one_machine) {
      names.push_back(rank == 0 ? name : name + "#" + std::to_string(rank));
      continue;
    }
    const auto both = [&](std::size_t other) {
      return what_user_calls(listed, other) + " and " + what_user_calls(listed, rank);
    };
    if (!is_new)
      throw std::invalid_argument(both(same->second) + " are the same machine (it calls itself " +
                                  name +
                                  "); the probe needs one rank per host: list each host once");
    const auto [namesake, unique] = by_name.try_emplace(name, rank);
    if (!unique)
      throw std::invalid_argument(both(namesake->second) + " both call themselves " + name +
                                  "; give each host a host name of its own");
    names.push_back(name);
  }
  return names;
}

std::string wrong_host(std::span<const std::string> names, std::span<const std::string> listed,
                       const network::Network& network) {
  if (names.size() != network.hosts.size())
    return "there are " + std::to_string(names.size()) + ", not " +
           std::to_string(network.hosts.size());
  const auto hosts = network::place(names, network);
  for (std::size_t rank = 0; rank < names.size(); ++rank)
    if (hosts[rank] != static_cast<network::HostId>(rank))
      return "host " + what_user_calls(listed, rank) + " calls itself " + names[rank] + ", not " +
             network.hosts[rank].name;
  return {};
}

bool share_clock(std::span<const Identity> ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [&](const Identity& rank) {
    return std::abs(rank.clock_origin - ranks.front().clock_origin) < clock_tolerance;
  });
}

std::int64_t smallest_window(std::span<const Identity> ranks) {
  std::int64_t least = 0;
  for (const Identity& rank : ranks)
    if (rank.initial_window > 0 && (least == 0 || rank.initial_window < least))
      least = rank.initial_window;
  return least;
}

} // namespace thalweg::probe
