#pragma once

#include "lab/descriptor.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace thalweg::lab {

/// The name of a host's interface inside the host.
inline constexpr const char* interface_name = "eth0";
/// Bytes that a TAP puts before each frame: virtio's header, which lets both sides skip checksums.
inline constexpr std::size_t tap_header = 10;

/// The parameters of a host of the lab.
struct HostOptions {
  std::string name;
  int number = 0;         ///< position in the network, also used in its hardware address
  std::string state;      ///< the lab's folder; the host's own is <state>/hosts/<name>
  std::vector<int> cores; ///< where its commands run
};

/// A running host.
struct HostProcess {
  std::string name;
  pid_t pid = 0;
  Descriptor process; ///< a pidfd: readable when the host has died
  Descriptor tap;
};

/// Starts a host: a process in its own namespaces for network, host name, IPC, processes and
/// mounts, with its own /proc, /sys, /dev/shm, /var/tmp, /etc/hosts and boot id. It dies with the
/// caller, and everything in it with it.
/// @throws std::runtime_error saying what the kernel refused
HostProcess start_host(const HostOptions& options);

/// Makes a TAP in the calling thread's network namespace. It vanishes when the descriptor closes.
Descriptor open_tap(const std::string& name, int number);

} // namespace thalweg::lab
