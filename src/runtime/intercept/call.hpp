#pragma once

#include "collective/collective.hpp"
#include "runtime/mpi/native.hpp"

#include <cstdint>
#include <cstring>

namespace thalweg::runtime {

/// An array argument of MPI with any of its integer types: int, MPI_Count or MPI_Aint.
class Numbers {
public:
  Numbers() = default;
  template <class Integer>
  Numbers(const Integer* data) // NOLINT(google-explicit-constructor): an argument as it comes
      : _data(data), _is_wide(sizeof(Integer) == sizeof(std::int64_t)), _is_given(true) {
    static_assert(sizeof(Integer) == sizeof(std::int64_t) || sizeof(Integer) == sizeof(int));
  }
  explicit operator bool() const { return _data != nullptr; }
  /// Whether the MPI function has this argument, which may be null where it isn't significant.
  [[nodiscard]] bool is_given() const { return _is_given; }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const {
    if (!_is_wide) return static_cast<const int*>(_data)[i];
    std::int64_t value = 0; // of a type that may not be an alias
    std::memcpy(&value, static_cast<const char*>(_data) + i * std::int64_t{sizeof value},
                sizeof value);
    return value;
  }

private:
  const void* _data = nullptr;
  bool _is_wide = false, _is_given = false;
};

/// A call's description of outgoing or incoming data: consecutive blocks of `count` elements each,
/// or blocks of `counts` elements, at `displacements` if these are given. Displacements are in
/// extents of the type, in bytes if each block has one of `types`.
struct Side {
  const void* buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type{};
  Numbers counts = {}, displacements = {};
  const MPI_Datatype* types = nullptr;
};

/// A call of a blocking collective, as the program made it. Arguments that MPI leaves out have an
/// empty side: bcast only receives. In reductions both sides have the same counts and type, in a
/// reduce_scatter the blocks' counts.
struct Call {
  collective::Kind kind{};
  MPI_Comm comm{};
  int root = 0;
  Side send = {}, receive = {};
  MPI_Op op = {};

  /// Whether the blocks may differ in size.
  [[nodiscard]] bool is_uneven() const {
    return send.counts.is_given() || receive.counts.is_given();
  }
};

/// The MPI library's own execution of an intercepted call: a reference to a callable, which must
/// outlive it.
class NativeCall {
public:
  template <class F>
  explicit NativeCall(const F& f)
      : _call([](const void* target) { return (*static_cast<const F*>(target))(); }), _target(&f) {}
  int operator()() const { return _call(_target); }

private:
  int (*_call)(const void*);
  const void* _target;
};

} // namespace thalweg::runtime
