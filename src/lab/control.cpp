#include "lab/control.hpp"

#include "network/parse.hpp"

#include <array>
#include <exception>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace thalweg::lab {
namespace {

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

/// Returns the command of a request; empty if the line isn't one.
std::string command_in(const std::string& line) {
  try {
    return network::parse_json(line).at("command");
  } catch (const std::exception&) {
    return "";
  }
}

} // namespace

Control::Control(const std::string& path, Answers answers)
    : _listener(listen_at(path)), _epoll(check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      _answers(std::move(answers)) {
  watch(_epoll.get(), _listener.get());
}

void Control::serve() {
  std::array<epoll_event, 8> events{};
  const int ready = epoll_wait(_epoll.get(), events.data(), events.size(), 0);
  for (int each = 0; each < ready; ++each) {
    const int fd = events[static_cast<std::size_t>(each)].data.fd;
    if (fd == _listener.get())
      accept_client();
    else
      read_client(fd);
  }
}

void Control::accept_client() {
  Descriptor client(accept4(_listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client) return;
  // Frames wait while the switch writes to a client.
  const timeval limit{.tv_sec = 0, .tv_usec = 100'000};
  setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  watch(_epoll.get(), client.get());
  const int fd = client.get();
  _clients.emplace(fd, std::pair(std::move(client), std::string()));
}

void Control::read_client(int client) {
  std::array<char, 4096> buffer{};
  const auto got = recv(client, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got <= 0) {
    _clients.erase(client);
    _stopped = _stopped || (!_ready && client == _owner);
    return;
  }
  auto& text = _clients.at(client).second;
  text.append(buffer.data(), static_cast<std::size_t>(got));
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    const auto reply = answer(text.substr(0, end), client) + "\n";
    send(client, reply.data(), reply.size(), MSG_NOSIGNAL);
    text.erase(0, end + 1);
  }
}

std::string Control::answer(const std::string& line, int client) {
  const std::string command = command_in(line);
  if (command == "counters") return _answers.counters();
  if (command == "own") {
    _owner = client;
    return R"({"ok": true})";
  }
  if (command == "ready") {
    if (!_ready) _answers.ready();
    _ready = true;
    return R"({"ok": true})";
  }
  if (command == "stop") {
    _stopped = true;
    return R"({"ok": true})";
  }
  if (command == "advance") {
    if (_answers.advance()) return R"({"ok": true})";
    return R"({"error": "the timeline has no change left, or hasn't begun"})";
  }
  if (command == "settled")
    return _answers.settled() ? R"({"settled": true})" : R"({"settled": false})";
  return R"({"error": "commands are advance, counters, own, ready, settled and stop"})";
}

} // namespace thalweg::lab
