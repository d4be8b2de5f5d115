#include "lab/descriptor.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace thalweg::lab {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw std::invalid_argument(path + ": is too long for a socket");
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

} // namespace

Descriptor::~Descriptor() {
  if (_fd >= 0) close(_fd);
}

Descriptor listen_at(const std::string& path) {
  const auto address = address_of(path);
  Descriptor socket(check(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  unlink(path.c_str());
  check(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), path);
  check(listen(socket.get(), 128), path);
  return socket;
}

Descriptor connect_to(const std::string& path) {
  const auto address = address_of(path);
  Descriptor socket(check(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  check(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), path);
  return socket;
}

void send_descriptors(int socket, const void* data, std::size_t size, const int* fds,
                      std::size_t count) {
  std::vector<char> control(CMSG_SPACE(count * sizeof(int)));
  iovec part{const_cast<void*>(data), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  auto* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(header), fds, count * sizeof(int));
  check(sendmsg(socket, &message, MSG_NOSIGNAL), "sendmsg");
}

std::size_t receive_descriptors(int socket, void* data, std::size_t size, Descriptor* fds,
                                std::size_t count) {
  std::vector<char> control(CMSG_SPACE(count * sizeof(int)));
  iovec part{data, size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const auto received = check(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), "recvmsg");
  const auto* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    const auto given = std::min(count, (header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::vector<int> numbers(given);
    std::memcpy(numbers.data(), CMSG_DATA(header), given * sizeof(int));
    std::transform(numbers.begin(), numbers.end(), fds, [](int fd) { return Descriptor(fd); });
  }
  return static_cast<std::size_t>(received);
}

void write_all(int fd, const void* data, std::size_t size) {
  const auto* next = static_cast<const char*>(data);
  while (size > 0) {
    const auto written = write(fd, next, size);
    if (written < 0 && errno == EINTR) continue;
    check(written, "write");
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

void read_all(int fd, void* data, std::size_t size) {
  auto* next = static_cast<char*>(data);
  while (size > 0) {
    const auto got = read(fd, next, size);
    if (got < 0 && errno == EINTR) continue;
    if (check(got, "read") == 0) throw std::runtime_error("the other side closed the connection");
    next += got;
    size -= static_cast<std::size_t>(got);
  }
}

} // namespace thalweg::lab
