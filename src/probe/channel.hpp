#pragma once

#include "probe/journal.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <exception>
#include <memory>
#include <mpi.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Messages between the probe's ranks that neither hang nor keep a core busy while idle.
namespace thalweg::probe {

template <class T>
inline constexpr std::size_t words_of = sizeof(T) / sizeof(std::int64_t);

template <class T>
void append(Words& words, const T& value) {
  for (auto word : std::bit_cast<std::array<std::int64_t, words_of<T>>>(value))
    words.push_back(word);
}

/// Reads a `T` at word `at`, and moves `at` behind it.
template <class T>
T extract(const Words& words, std::size_t& at) {
  if (at + words_of < T >> words.size())
    throw std::logic_error("a message of the probe is too short");
  std::array<std::int64_t, words_of<T>> plain;
  std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(at), plain.size(), plain.begin());
  at += plain.size();
  return std::bit_cast<T>(plain);
}

enum class Tag : int { announce, order, reply, greeting, ping, pong, cost, eager, stream };

/// CLOCK_MONOTONIC.
Nanoseconds now();
void sleep_until(Nanoseconds time);

/// Thrown when rank `rank` stayed silent beyond the patience.
struct Silence : std::runtime_error {
  explicit Silence(int silent) : std::runtime_error("silence"), rank(silent) {}
  int rank;
};

/// The poll that found a request done.
struct Look {
  Nanoseconds took = 0;
  bool first = false; ///< it may have been done for long
};

class Channel {
public:
  Channel(MPI_Comm comm, Nanoseconds patience);

  [[nodiscard]] MPI_Comm comm() const { return _comm; }
  [[nodiscard]] int rank() const { return _rank; }
  [[nodiscard]] int size() const { return _size; }
  [[nodiscard]] Nanoseconds patience() const { return _patience; }

  /// @throws Silence if `to` doesn't take the message by `deadline`, or within the patience
  void send(int to, Tag tag, const Words& words, Nanoseconds deadline) const;
  void send(int to, Tag tag, const Words& words) const;
  /// Sleeps between polls. @throws Silence if nothing came by `deadline`
  [[nodiscard]] Words receive(int from, Tag tag, Nanoseconds deadline) const;
  /// Does the same without a deadline.
  [[nodiscard]] Words receive(int from, Tag tag) const;

  /// Posts a message of bytes.
  [[nodiscard]] MPI_Request post_send(const void* data, Size size, int to, Tag tag,
                                      int lane = 0) const;
  [[nodiscard]] MPI_Request post_receive(void* data, Size size, int from, Tag tag,
                                         int lane = 0) const;
  /// Waits for a request to or from `peer`: sleeps until `not_before`, then polls, yielding the
  /// core in between. @throws Silence after the patience
  Look complete(MPI_Request& request, int peer, Nanoseconds not_before = 0) const;
  /// Waits for a request, sleeping between polls as `receive` does: ranks that share a core and
  /// wait for long must not take it from ranks that measure. @throws Silence after the patience
  void await(MPI_Request& request, int peer) const;

  /// Keeps the library working for a while, so that its last acknowledgements get through.
  void linger(Nanoseconds time) const;

private:
  MPI_Comm _comm;
  int _rank = 0, _size = 0;
  Nanoseconds _patience;
};

/// Owns what MPI reads or writes for open requests. It stays for good if an exception leaves the
/// scope: after a Silence the requests are still open, and the process ends soon.
template <class T>
class Buffers {
public:
  explicit Buffers(T value) : _value(std::make_unique<T>(std::move(value))) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    if (std::uncaught_exceptions() > _exceptions) static_cast<void>(_value.release());
  }
  [[nodiscard]] T& operator*() const { return *_value; }

private:
  std::unique_ptr<T> _value;
  int _exceptions = std::uncaught_exceptions();
};

} // namespace thalweg::probe
