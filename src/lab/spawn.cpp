#include "lab/spawn.hpp"

#include "lab/descriptor.hpp"
#include "lab/host_init.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thalweg::lab {
namespace {

void append(std::string& blob, const std::vector<std::string>& texts) {
  const auto count = static_cast<std::uint32_t>(texts.size());
  blob.append(reinterpret_cast<const char*>(&count), sizeof count);
  for (const auto& text : texts)
    blob.append(text.c_str(), text.size() + 1);
}

/// Reads what append() wrote.
std::vector<std::string> take(const std::string& blob, std::size_t& position) {
  std::uint32_t count = 0;
  if (position + sizeof count > blob.size()) throw std::runtime_error("a request is cut short");
  blob.copy(reinterpret_cast<char*>(&count), sizeof count, position);
  position += sizeof count;
  std::vector<std::string> texts;
  while (count-- > 0) {
    const auto end = blob.find('\0', position);
    if (end == std::string::npos) throw std::runtime_error("a request is cut short");
    texts.push_back(blob.substr(position, end - position));
    position = end + 1;
  }
  return texts;
}

Descriptor watch_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT})
    sigaddset(&set, each);
  check(sigprocmask(SIG_BLOCK, &set, nullptr), "sigprocmask");
  return Descriptor(check(signalfd(-1, &set, SFD_CLOEXEC), "signalfd"));
}

} // namespace

std::string socket_of_host(const std::string& state, const std::string& host) {
  return state + "/hosts/" + host + "/init";
}

int exit_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

void send_request(int socket, const SpawnRequest& request, const int (&streams)[3]) {
  std::string blob;
  append(blob, {request.directory});
  append(blob, request.arguments);
  append(blob, request.environment);
  const auto size = static_cast<std::uint32_t>(blob.size());
  send_descriptors(socket, &size, sizeof size, streams, 3);
  write_all(socket, blob.data(), blob.size());
}

SpawnRequest receive_request(int socket, std::array<Descriptor, 3>& streams) {
  std::uint32_t size = 0;
  if (receive_descriptors(socket, &size, sizeof size, streams.data(), streams.size()) !=
      sizeof size)
    throw std::runtime_error("a request is cut short");
  std::string blob(size, '\0');
  read_all(socket, blob.data(), size);
  std::size_t position = 0;
  SpawnRequest request;
  request.directory = take(blob, position).at(0);
  request.arguments = take(blob, position);
  request.environment = take(blob, position);
  if (request.arguments.empty()) throw std::runtime_error("a request names no command");
  return request;
}

int run_in_host(const std::string& socket, const SpawnRequest& request) {
  const auto signals = watch_signals();
  const auto connection = connect_to(socket);
  send_request(connection.get(), request, {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  std::array<pollfd, 2> wait{{{connection.get(), POLLIN, 0}, {signals.get(), POLLIN, 0}}};
  for (;;) {
    if (poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) check(-1, "poll");
    if (wait[0].revents != 0) {
      int status = 0;
      read_all(connection.get(), &status, sizeof status);
      return exit_status(status);
    }
    if (wait[1].revents != 0) {
      signalfd_siginfo info{};
      read_all(signals.get(), &info, sizeof info);
      const auto number = static_cast<std::uint8_t>(info.ssi_signo);
      // The command may end just now: then its status is there to be read.
      if (send(connection.get(), &number, 1, MSG_NOSIGNAL) < 0 && errno != EPIPE)
        check(-1, "the lab has gone");
    }
  }
}

} // namespace thalweg::lab
