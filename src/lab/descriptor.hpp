#pragma once

#include <string>
#include <system_error>
#include <utility>

/// Thin owners around Linux descriptors.
namespace thalweg::lab {

/// Closes its file descriptor.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int fd) : _fd(fd) {}
  Descriptor(Descriptor&& other) noexcept : _fd(std::exchange(other._fd, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(_fd, other._fd);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  [[nodiscard]] int get() const { return _fd; }
  explicit operator bool() const { return _fd >= 0; }

private:
  int _fd = -1;
};

/// Throws std::system_error with the failed operation if `result` is negative; else returns it.
template <class T>
T check(T result, const std::string& what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

/// Listens on a stream socket at `path`, replacing what is there.
Descriptor listen_at(const std::string& path);
/// Connects to the stream socket at `path`.
Descriptor connect_to(const std::string& path);

/// Sends descriptors along with at least one byte of data; receives up to `count` of them.
void send_descriptors(int socket, const void* data, std::size_t size, const int* fds,
                      std::size_t count);
/// @returns the bytes received; descriptors that weren't sent stay as they were
std::size_t receive_descriptors(int socket, void* data, std::size_t size, Descriptor* fds,
                                std::size_t count);

/// Writes all bytes, in as many calls as the pipe or socket needs.
void write_all(int fd, const void* data, std::size_t size);
/// Reads exactly `size` bytes. @throws std::runtime_error at an early end
void read_all(int fd, void* data, std::size_t size);

} // namespace thalweg::lab
