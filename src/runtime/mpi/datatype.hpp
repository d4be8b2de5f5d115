#pragma once

#include "runtime/mpi/native.hpp"
#include "runtime/mpi/unit_shape.hpp"

#include <cstddef>
#include <cstdint>

namespace thalweg::runtime {

/// The properties of a datatype that the runtime needs.
struct TypeInfo {
  UnitShape shape;
  bool predefined = false;
  bool contiguous =
      false; ///< an array of it is its data, in the order of its signature, without gaps
};

/// Requires a valid datatype. Local; a few calls of the MPI library, unless it is predefined and
/// the same as in the thread's last call. The result is valid until the thread's next call.
const TypeInfo& inspect(MPI_Datatype type);

/// Returns the bytes of data in `count` elements. The type is looked at only if there are any: else
/// it may be MPI_DATATYPE_NULL, and MPICH aborts the program that asks for its size.
std::int64_t bytes_of(MPI_Count count, MPI_Datatype type);

/// How a rank sends messages to itself: no other thread does so meanwhile on this communicator with
/// this tag.
struct ToSelf {
  MPI_Comm comm;
  int tag;

  /// Copies elements from one type to another, which may have gaps. Returns MPI_SUCCESS or the
  /// library's error.
  int copy(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
           MPI_Datatype to_type) const;
};

/// Packs the data of `count` elements at `buffer`, which may be MPI_BOTTOM, to `packed`, in as many
/// calls as MPI's int sizes need. Returns MPI_SUCCESS or the library's error.
int pack(const void* buffer, MPI_Count count, MPI_Datatype type, const TypeInfo& info,
         std::byte* packed, const ToSelf& to_self);
/// The reverse of pack().
int unpack(const std::byte* packed, void* buffer, MPI_Count count, MPI_Datatype type,
           const TypeInfo& info, const ToSelf& to_self);

/// Whether packed data has the size of the data, as pack() needs. The answer holds for all types of
/// a library; it is checked once, with a type that has gaps.
bool packs_exactly(MPI_Comm comm);

} // namespace thalweg::runtime
