#include "operation.hpp"

#include "collective/collective.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mpi.h>
#include <stdexcept>

namespace thalweg::bench {
namespace {

using Bytes = std::vector<std::byte>;
using collective::Kind;

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

class Bcast : public TimedCollective {
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
class Sum : public TimedCollective {
public:
  /// `size`: bytes of the result.
  Sum(Kind kind, std::size_t size, int root)
      : _kind(kind), _root(root), _receive(size / sizeof(double)),
        _send(kind == Kind::reduce_scatter ? _receive.size() * ranks() : _receive.size()) {
    if (size % sizeof(double) != 0)
      throw std::invalid_argument("a reduction of " + std::to_string(size) +
                                  " bytes isn't one of doubles; give a multiple of 8");
  }
  void fill(std::uint64_t repetition) override {
    for (std::size_t i = 0; i < _send.size(); ++i)
      _send[i] = static_cast<double>(base(repetition, i) + rank());
    std::fill(_receive.begin(), _receive.end(), -1.0);
  }
  void run() override {
    const double* const send = _send.data();
    double* const receive = _receive.data();
    const int count = bench::count(_receive.size());
    switch (_kind) {
    case Kind::reduce:
      MPI_Reduce(send, receive, count, MPI_DOUBLE, MPI_SUM, _root, MPI_COMM_WORLD);
      break;
    case Kind::allreduce:
      MPI_Allreduce(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      break;
    case Kind::reduce_scatter:
      MPI_Reduce_scatter_block(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      break;
    case Kind::scan:
      MPI_Scan(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      break;
    case Kind::exscan:
      MPI_Exscan(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      break;
    case Kind::bcast:
    case Kind::gather:
    case Kind::scatter:
    case Kind::allgather:
    case Kind::alltoall:
    case Kind::barrier:
      break; // no sums
    }
  }
  bool correct(std::uint64_t repetition) const override {
    const std::uint64_t terms = contributors();
    const std::size_t first = _kind == Kind::reduce_scatter ? rank() * _receive.size() : 0;
    for (std::size_t i = 0; i < _receive.size(); ++i) {
      const std::uint64_t sum = terms * base(repetition, first + i) + terms * (terms - 1) / 2;
      if (terms > 0 && _receive[i] != static_cast<double>(sum)) return false;
    }
    return true;
  }

private:
  static std::uint64_t rank() { return static_cast<std::uint64_t>(world_rank()); }
  static std::uint64_t ranks() { return static_cast<std::uint64_t>(world_size()); }
  /// Returns how many of the first ranks contribute to the result here; with 0 it may be anything.
  [[nodiscard]] std::uint64_t contributors() const {
    if (_kind == Kind::reduce) return world_rank() == _root ? ranks() : 0;
    if (_kind == Kind::scan) return rank() + 1;
    return _kind == Kind::exscan ? rank() : ranks();
  }
  static std::uint64_t base(std::uint64_t repetition, std::size_t i) {
    return (i + repetition) % 1021 + 1;
  }

  Kind _kind;
  int _root;
  std::vector<double> _receive, _send;
};

class Gather : public TimedCollective {
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

class Scatter : public TimedCollective {
public:
  Scatter(std::size_t block, int root)
      : _root(root), _receive(block),
        _send(world_rank() == root ? block * static_cast<std::size_t>(world_size()) : 0) {}
  void fill(std::uint64_t repetition) override {
    for (std::size_t at = 0; at < _send.size(); at += _receive.size())
      write_pattern(_send.data() + at, _receive.size(), repetition,
                    static_cast<int>(at / _receive.size()));
    write_wrong(_receive.data(), _receive.size(), repetition, world_rank());
  }
  void run() override {
    const int block = count(_receive.size());
    MPI_Scatter(_send.data(), block, MPI_BYTE, _receive.data(), block, MPI_BYTE, _root,
                MPI_COMM_WORLD);
  }
  bool correct(std::uint64_t repetition) const override {
    return has_pattern(_receive.data(), _receive.size(), repetition, world_rank());
  }

private:
  int _root;
  Bytes _receive, _send;
};

class Alltoall : public TimedCollective {
public:
  explicit Alltoall(std::size_t block)
      : _block(block), _send(block * static_cast<std::size_t>(world_size())),
        _receive(_send.size()) {}
  void fill(std::uint64_t repetition) override {
    for (int peer = 0; peer < world_size(); ++peer) {
      write_pattern(_send.data() + begin(peer), _block, repetition, number(world_rank(), peer));
      write_wrong(_receive.data() + begin(peer), _block, repetition, number(peer, world_rank()));
    }
  }
  void run() override {
    const int block = count(_block);
    MPI_Alltoall(_send.data(), block, MPI_BYTE, _receive.data(), block, MPI_BYTE, MPI_COMM_WORLD);
  }
  bool correct(std::uint64_t repetition) const override {
    for (int peer = 0; peer < world_size(); ++peer)
      if (!has_pattern(_receive.data() + begin(peer), _block, repetition,
                       number(peer, world_rank())))
        return false;
    return true;
  }

private:
  [[nodiscard]] std::size_t begin(int peer) const {
    return _block * static_cast<std::size_t>(peer);
  }
  static int number(int from, int to) { return from * world_size() + to; }

  std::size_t _block;
  Bytes _send, _receive;
};

/// Whether it was correct shows in the times: see docs/benchmarks.md.
class Barrier : public TimedCollective {
public:
  void fill(std::uint64_t /*repetition*/) override {}
  void run() override { MPI_Barrier(MPI_COMM_WORLD); }
  bool correct(std::uint64_t /*repetition*/) const override { return true; }
};

} // namespace

std::unique_ptr<TimedCollective> make_operation(const std::string& collective, units::Size size,
                                                int root) {
  const auto bytes = static_cast<std::size_t>(size);
  const Kind kind = collective::parse_kind(collective);
  switch (kind) {
  case Kind::bcast:
    return std::make_unique<Bcast>(bytes, root);
  case Kind::gather:
  case Kind::allgather:
    return std::make_unique<Gather>(bytes, root, kind == Kind::allgather);
  case Kind::scatter:
    return std::make_unique<Scatter>(bytes, root);
  case Kind::alltoall:
    return std::make_unique<Alltoall>(bytes);
  case Kind::barrier:
    return std::make_unique<Barrier>();
  case Kind::reduce:
  case Kind::allreduce:
  case Kind::reduce_scatter:
  case Kind::scan:
  case Kind::exscan:
    return std::make_unique<Sum>(kind, bytes, root);
  }
  return nullptr;
}

} // namespace thalweg::bench
