#include "lab_control.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace thalweg::bench {

LabControl::LabControl() {
  const char* folder = std::getenv("THALWEG_LAB_STATE");
  if (folder == nullptr) return;
  const std::string path = std::string(folder) + "/control";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw std::runtime_error("THALWEG_LAB_STATE is too long for a socket: " + path);
  path.copy(address.sun_path, path.size());
  _socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(_socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("the lab's switch doesn't answer at " + path + ": " +
                             std::strerror(errno) + "; is the lab up?");
}

LabControl::~LabControl() {
  if (_socket >= 0) close(_socket);
}

std::string LabControl::counters() {
  return _socket < 0 ? "null" : ask("{\"command\":\"counters\"}\n");
}

void LabControl::advance() {
  if (_socket < 0) throw std::runtime_error("only a lab's network can be changed; is one up?");
  const std::string answer = ask("{\"command\":\"advance\"}\n");
  if (answer.find("error") != std::string::npos)
    throw std::runtime_error("the lab's switch says " + answer);
  while (ask("{\"command\":\"settled\"}\n").find("true") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

std::string LabControl::ask(std::string_view request) {
  if (send(_socket, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    throw std::runtime_error("the lab's switch went away");
  std::string answer;
  while (answer.empty() || answer.back() != '\n') {
    std::array<char, 4096> part;
    const auto got = recv(_socket, part.data(), part.size(), 0);
    if (got <= 0) throw std::runtime_error("the lab's switch went away");
    answer.append(part.data(), static_cast<std::size_t>(got));
  }
  answer.pop_back();
  return answer;
}

} // namespace thalweg::bench
