#include "operation.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mpi.h>
#include <stdexcept>

namespace thalweg::bench {
namespace {

using Bytes = std::vector<std::byte>;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

int count(std::size_t value) {
  if (value > std::numeric_limits<int>::max())
    throw std::invalid_argument("a message of " + std::to_string(value) + " elements is too large");
  return static_cast<int>(value);
}

/// Byte `i` of what `rank` contributes to a repetition; changes with each of the three.
std::byte pattern(std::uint64_t repetition, int rank, std::size_t i) {
  return static_cast<std::byte>(
      (i * 31 + (i >> 8) + static_cast<std::size_t>(rank) * 17 + repetition * 101) & 0xff);
}

void write_pattern(std::byte* to, std::size_t size, std::uint64_t repetition, int rank) {
  for (std::size_t i = 0; i < size; ++i)
    to[i] = pattern(repetition, rank, i);
}

void write_wrong(std::byte* to, std::size_t size, std::uint64_t repetition, int rank) {
  for (std::size_t i = 0; i < size; ++i)
    to[i] = ~pattern(repetition, rank, i);
}

bool has_pattern(const std::byte* at, std::size_t size, std::uint64_t repetition, int rank) {
  for (std::size_t i = 0; i < size; ++i)
    if (at[i] != pattern(repetition, rank, i)) return false;
  return true;
}

class Bcast : public Operation {
public:
  Bcast(std::size_t size, int root) : _root(root), _buffer(size) {}
  void fill(std::uint64_t repetition) override {
    const auto write = world_rank() == _root ? write_pattern : write_wrong;
    write(_buffer.data(), _buffer.size(), repetition, _root);
  }
  void run() override {
    MPI_Bcast(_buffer.data(), count(_buffer.size()), MPI_BYTE, _root, MPI_COMM_WORLD);
  }
  bool correct(std::uint64_t repetition) const override {
    return has_pattern(_buffer.data(), _buffer.size(), repetition, _root);
  }

private:
  int _root;
  Bytes _buffer;
};

/// A sum of doubles. They are small integers, so that it is exact in any order.
class Reduction : public Operation {
public:
  Reduction(std::size_t size, int root, bool all)
      : _root(root), _all(all), _send(size / sizeof(double)), _receive(_send.size()) {
    if (size % sizeof(double) != 0)
      throw std::invalid_argument("a reduction of " + std::to_string(size) +
                                  " bytes isn't one of doubles; give a multiple of 8");
  }
  void fill(std::uint64_t repetition) override {
    const auto rank = static_cast<std::uint64_t>(world_rank());
    for (std::size_t i = 0; i < _send.size(); ++i)
      _send[i] = term(repetition, rank, i);
    std::fill(_receive.begin(), _receive.end(), 0.0);
  }
  void run() override {
    if (_all)
      MPI_Allreduce(_send.data(), _receive.data(), count(_send.size()), MPI_DOUBLE, MPI_SUM,
                    MPI_COMM_WORLD);
    else
      MPI_Reduce(_send.data(), _receive.data(), count(_send.size()), MPI_DOUBLE, MPI_SUM, _root,
                 MPI_COMM_WORLD);
  }
  bool correct(std::uint64_t repetition) const override {
    if (!_all && world_rank() != _root) return true;
    const auto ranks = static_cast<std::uint64_t>(world_size());
    for (std::size_t i = 0; i < _receive.size(); ++i) {
      const std::uint64_t sum = ranks * base(repetition, i) + ranks * (ranks - 1) / 2;
      if (_receive[i] != static_cast<double>(sum)) return false;
    }
    return true;
  }

private:
  static std::uint64_t base(std::uint64_t repetition, std::size_t i) {
    return (i + repetition) % 1021 + 1;
  }
  static double term(std::uint64_t repetition, std::uint64_t rank, std::size_t i) {
    return static_cast<double>(base(repetition, i) + rank);
  }

  int _root;
  bool _all;
  std::vector<double> _send, _receive;
};

class Gather : public Operation {
public:
  Gather(std::size_t block, int root, bool all)
      : _root(root), _all(all), _send(block),
        _receive(receives() ? block * static_cast<std::size_t>(world_size()) : 0) {}
  void fill(std::uint64_t repetition) override {
    write_pattern(_send.data(), _send.size(), repetition, world_rank());
    for (std::size_t at = 0; at < _receive.size(); at += _send.size())
      write_wrong(_receive.data() + at, _send.size(), repetition, owner(at));
  }
  void run() override {
    const int block = count(_send.size());
    if (_all)
      MPI_Allgather(_send.data(), block, MPI_BYTE, _receive.data(), block, MPI_BYTE,
                    MPI_COMM_WORLD);
    else
      MPI_Gather(_send.data(), block, MPI_BYTE, _receive.data(), block, MPI_BYTE, _root,
                 MPI_COMM_WORLD);
  }
  bool correct(std::uint64_t repetition) const override {
    for (std::size_t at = 0; at < _receive.size(); at += _send.size())
      if (!has_pattern(_receive.data() + at, _send.size(), repetition, owner(at))) return false;
    return true;
  }

private:
  [[nodiscard]] bool receives() const { return _all || world_rank() == _root; }
  [[nodiscard]] int owner(std::size_t at) const { return static_cast<int>(at / _send.size()); }

  int _root;
  bool _all;
  Bytes _send, _receive;
};

} // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names{"bcast", "reduce", "allreduce", "gather",
                                              "allgather"};
  return names;
}

std::unique_ptr<Operation> make_operation(const std::string& collective, units::Size size,
                                          int root) {
  const auto bytes = static_cast<std::size_t>(size);
  if (collective == "bcast") return std::make_unique<Bcast>(bytes, root);
  if (collective == "reduce") return std::make_unique<Reduction>(bytes, root, false);
  if (collective == "allreduce") return std::make_unique<Reduction>(bytes, root, true);
  if (collective == "gather") return std::make_unique<Gather>(bytes, root, false);
  if (collective == "allgather") return std::make_unique<Gather>(bytes, root, true);
  throw std::invalid_argument("no collective called \"" + collective + "\"");
}

} // namespace thalweg::bench
