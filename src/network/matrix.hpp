#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg::network {

/// Index of a host in a Network.
using HostId = std::int32_t;
inline constexpr HostId no_host = -1;

/// A dense square matrix, indexed (from, to).
template <class T>
class Matrix {
public:
  Matrix() = default;
  explicit Matrix(std::size_t size, T value = {}) : _size(size), _data(size * size, value) {}

  [[nodiscard]] std::size_t size() const { return _size; }
  T& operator()(HostId from, HostId to) { return _data[index(from, to)]; }
  const T& operator()(HostId from, HostId to) const { return _data[index(from, to)]; }
  bool operator==(const Matrix&) const = default;

private:
  [[nodiscard]] std::size_t index(HostId from, HostId to) const {
    assert(from >= 0 && to >= 0);
    return static_cast<std::size_t>(from) * _size + static_cast<std::size_t>(to);
  }
  std::size_t _size = 0;
  std::vector<T> _data;
};

} // namespace thalweg::network
