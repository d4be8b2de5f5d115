#pragma once

#include "lab/descriptor.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace thalweg::lab {

/// The interface of a host, as the host sees it.
inline constexpr const char* interface_name = "eth0";
/// Bytes that a TAP puts before each frame: virtio's header, with which checksums are neither
/// computed nor verified on the way.
inline constexpr std::size_t tap_header = 10;

/// What makes a host of the lab.
struct HostOptions {
  std::string name;
  int number = 0;         ///< position in the network; its hardware address is made from it
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

/// Starts a host: a process in namespaces of its own for network, host name, IPC, processes and
/// mounts, with its own /proc, /sys, /dev/shm, /var/tmp, /etc/hosts and boot id. It dies with the
/// caller, and everything in it with it.
/// @throws std::runtime_error saying what the kernel refused
HostProcess start_host(const HostOptions& options);

/// Makes a TAP in the calling thread's network namespace. It vanishes with the descriptor.
Descriptor open_tap(const std::string& name, int number);

} // namespace thalweg::lab
