#include "lab/host.hpp"

#include "lab/host_init.hpp"
#include "lab/spawn.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <linux/if_tun.h>
#include <linux/sched.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thalweg::lab {
namespace {

void mount_at(const char* source, const char* target, const char* type, unsigned long flags,
              const char* data = nullptr) {
  check(mount(source, target, type, flags, data), std::string("mount ") + target);
}

/// Mounts a file of the host's folder over one of the system's, if the system has it.
void replace_file(const std::string& source, const char* target) {
  if (std::filesystem::exists(target) && std::filesystem::exists(source))
    mount_at(source.c_str(), target, nullptr, MS_BIND);
}

void mount_own_files(const std::string& state, const std::string& folder) {
  mount_at(nullptr, "/", nullptr, MS_REC | MS_SLAVE);
  mount_at("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC);
  // MPI libraries look for network interfaces in /sys, which shows the namespace that mounted it.
  mount_at("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY);
  mount_at("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  mount_at("tmpfs", "/var/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  replace_file(state + "/hosts.txt", "/etc/hosts");
  replace_file(folder + "/hostname", "/etc/hostname");
  replace_file(folder + "/boot_id", "/proc/sys/kernel/random/boot_id");
}

[[noreturn]] void be_host(const HostOptions& options, const Descriptor& parent) {
  const auto folder = options.state + "/hosts/" + options.name;
  check(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
  check(setsid(), "setsid");
  check(sethostname(options.name.c_str(), options.name.size()), "sethostname");
  mount_own_files(options.state, folder);
  auto listener = listen_at(socket_of_host(options.state, options.name));
  const auto tap = open_tap(interface_name, options.number);
  const int fd = tap.get();
  send_descriptors(parent.get(), "R", 1, &fd, 1);
  serve_commands(std::move(listener), options.cores);
}

/// Closes everything but the standard streams and the socket to the parent, above all the lock and
/// the other hosts' TAPs, which must close when the parent dies.
void close_all_but(int kept) {
  if (kept > 3) close_range(3, static_cast<unsigned>(kept) - 1, 0);
  close_range(static_cast<unsigned>(kept) + 1, ~0U, 0);
}

[[noreturn]] void child(const HostOptions& options, Descriptor& parent) {
  try {
    close_all_but(parent.get());
    be_host(options, parent);
  } catch (const std::exception& error) {
    const std::string text = std::string("E") + error.what();
    send(parent.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  _exit(1);
}

} // namespace

Descriptor open_tap(const std::string& name, int number) {
  Descriptor tap(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  check(tap.get(), "/dev/net/tun");
  ifreq request{};
  std::snprintf(request.ifr_name, IFNAMSIZ, "%s", name.c_str());
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  check(ioctl(tap.get(), TUNSETIFF, &request), "TUNSETIFF");
  check(ioctl(tap.get(), TUNSETOFFLOAD, TUN_F_CSUM), "TUNSETOFFLOAD");
  const std::array<unsigned char, 6> address{0x02,
                                             0x54,
                                             0x57,
                                             0,
                                             static_cast<unsigned char>(number >> 8),
                                             static_cast<unsigned char>(number)};
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, address.data(), address.size());
  check(ioctl(tap.get(), SIOCSIFHWADDR, &request), "SIOCSIFHWADDR");
  return tap;
}

HostProcess start_host(const HostOptions& options) {
  std::array<int, 2> pair{};
  check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), "socketpair");
  Descriptor ours(pair[0]), theirs(pair[1]);
  int process = -1;
  clone_args arguments{};
  arguments.flags =
      CLONE_PIDFD | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNS;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&process);
  arguments.exit_signal = SIGCHLD;
  const auto pid = static_cast<pid_t>(check(syscall(SYS_clone3, &arguments, sizeof arguments),
                                            "namespaces for host " + options.name));
  if (pid == 0) child(options, theirs);
  HostProcess host{options.name, pid, Descriptor(process), Descriptor()};
  theirs = Descriptor();
  std::array<char, 256> answer{};
  const auto size = receive_descriptors(ours.get(), answer.data(), answer.size(), &host.tap, 1);
  if (!host.tap)
    throw std::runtime_error("host " + options.name + " did not start: " +
                             std::string(answer.data() + 1, size > 0 ? size - 1 : 0));
  return host;
}

} // namespace thalweg::lab
