#include "lab/host_init.hpp"

#include "lab/cores.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thalweg::lab {
namespace {

/// The kernel's struct sched_attr, which glibc 2.36 does not declare.
struct SchedulingAttributes {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime, deadline, period;
};

/// Ranks spin while they wait. A short time slice bounds how long one keeps the others of its core
/// from running; kernels before 6.12 ignore it.
void shorten_time_slice() {
  SchedulingAttributes attributes{};
  attributes.size = sizeof attributes;
  attributes.runtime = 100'000;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// A command starts with the signals as a login has them, whatever those who started the lab
/// ignore.
void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number)
    std::signal(number, SIG_DFL);
}

[[noreturn]] void become(SpawnRequest& request, const std::array<Descriptor, 3>& streams,
                         const std::vector<int>& cores) noexcept {
  reset_signals();
  setsid();
  for (int stream = 0; stream < 3; ++stream)
    dup2(streams[static_cast<std::size_t>(stream)].get(), stream);
  if (chdir(request.directory.c_str()) != 0 && chdir("/") != 0) _exit(126);
  keep_to(cores);
  shorten_time_slice();
  auto arguments = pointers(request.arguments);
  auto environment = pointers(request.environment);
  environ = environment.data(); // execvpe would look the program up in our own PATH
  execvp(arguments[0], arguments.data());
  dprintf(STDERR_FILENO, "thalweg: cannot run %s: %s\n", arguments[0], std::strerror(errno));
  _exit(errno == ENOENT ? 127 : 126);
}

using Running = std::map<pid_t, Descriptor>; ///< command -> connection that asked for it

void start_command(Descriptor connection, const std::vector<int>& cores, Running& running) {
  // A client that connects and then stays silent must not stop the host.
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::array<Descriptor, 3> streams;
  auto request = receive_request(connection.get(), streams);
  const auto pid = check(fork(), "fork");
  if (pid == 0) become(request, streams, cores);
  running.emplace(pid, std::move(connection));
}

void reap(Running& running) {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (const auto found = running.find(pid); found != running.end()) {
      send(found->second.get(), &status, sizeof status, MSG_NOSIGNAL);
      running.erase(found);
    }
  }
}

/// Passes a signal on to the command's process group; sends SIGHUP if the client has gone.
/// @returns whether the connection is still there
bool pass_signal(pid_t pid, int connection) {
  std::uint8_t number = 0;
  const bool there = recv(connection, &number, 1, MSG_DONTWAIT) > 0;
  const int sent = there ? number : SIGHUP;
  if (kill(-pid, sent) != 0 && errno == ESRCH) kill(pid, sent); // it has no group yet
  return there;
}

} // namespace

void serve_commands(Descriptor listener, const std::vector<int>& cores) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  check(sigprocmask(SIG_BLOCK, &child, nullptr), "sigprocmask");
  const Descriptor children(check(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd"));
  Running running;
  for (;;) {
    std::vector<pollfd> wait{{listener.get(), POLLIN, 0}, {children.get(), POLLIN, 0}};
    std::vector<pid_t> owners;
    for (const auto& [pid, connection] : running) {
      if (!connection) continue;
      wait.push_back({connection.get(), POLLIN, 0});
      owners.push_back(pid);
    }
    if (poll(wait.data(), wait.size(), -1) < 0) continue;
    for (std::size_t each = 0; each < owners.size(); ++each)
      if (wait[each + 2].revents != 0 && !pass_signal(owners[each], wait[each + 2].fd))
        running[owners[each]] = Descriptor();
    if (wait[1].revents != 0) {
      signalfd_siginfo info{};
      while (read(children.get(), &info, sizeof info) > 0) {
      }
      reap(running);
    }
    if (wait[0].revents == 0) continue;
    try {
      start_command(Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)), cores,
                    running);
    } catch (const std::exception& error) {
      dprintf(STDERR_FILENO, "thalweg-switch: a command was not started: %s\n", error.what());
    }
  }
}

} // namespace thalweg::lab
