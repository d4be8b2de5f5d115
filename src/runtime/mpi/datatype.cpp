#include "runtime/mpi/datatype.hpp"

#include <algorithm>
#include <array>

namespace thalweg::runtime {
namespace {

constexpr std::int64_t most_bytes_per_call = std::int64_t{1} << 30;

TypeInfo look_at(MPI_Datatype type);

/// How a type was made, and of how many of each kind of arguments.
struct Envelope {
  int combiner = 0;
  MPI_Count integers = 0, addresses = 0, counts = 0, datatypes = 0;
};

/// MPICH aborts the program that asks by the function for ints about a type that was made by one
/// with large counts. Older libraries have no other.
Envelope envelope_of(MPI_Datatype type) {
  Envelope found;
  if (native.type_get_envelope_c != nullptr) {
    native.type_get_envelope_c(type, &found.integers, &found.addresses, &found.counts,
                               &found.datatypes, &found.combiner);
    return found;
  }
  int integers = 0, addresses = 0, datatypes = 0;
  native.Type_get_envelope(type, &integers, &addresses, &datatypes, &found.combiner);
  found.integers = integers, found.addresses = addresses, found.datatypes = datatypes;
  return found;
}

/// Whether a type that MPI_Type_get_contents() returned must be freed. Open MPI doesn't
/// count those of MPI_Type_create_f90_real() and its kin, and lets nobody free them.
bool must_be_freed(MPI_Datatype type) {
  switch (envelope_of(type).combiner) {
  case MPI_COMBINER_NAMED:
    return false;
#if defined(OPEN_MPI)
  case MPI_COMBINER_F90_REAL:
  case MPI_COMBINER_F90_COMPLEX:
  case MPI_COMBINER_F90_INTEGER:
    return false;
#endif
  default:
    return true;
  }
}

/// Whether `type`, derived with combiner dup or contiguous, has a contiguous base. One that was
/// made with a large count is taken for one that hasn't.
bool has_contiguous_base(MPI_Datatype type, const Envelope& envelope) {
  const bool may_have =
      envelope.combiner == MPI_COMBINER_DUP || envelope.combiner == MPI_COMBINER_CONTIGUOUS;
  if (!may_have || envelope.integers > 1 || envelope.addresses > 0 || envelope.counts > 0 ||
      envelope.datatypes != 1)
    return false;
  int count = 0;
  MPI_Aint address = 0;
  MPI_Datatype base = native.datatype_null;
  if (native.Type_get_contents(type, static_cast<int>(envelope.integers), 0, 1, &count, &address,
                               &base) != MPI_SUCCESS)
    return false;
  const TypeInfo info = look_at(base);
  if (must_be_freed(base)) native.Type_free(&base);
  return info.contiguous;
}

/// Asks the MPI library.
TypeInfo look_at(MPI_Datatype type) {
  MPI_Count size = 0;
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  native.Type_size_x(type, &size);
  native.Type_get_extent(type, &lower, &extent);
  native.Type_get_true_extent(type, &true_lower, &true_extent);
  const Envelope envelope = envelope_of(type);
  TypeInfo info;
  info.shape = {
      .extent = extent, .true_lower_bound = true_lower, .true_extent = true_extent, .bytes = size};
  info.predefined = envelope.combiner == MPI_COMBINER_NAMED;
  const bool dense = size == extent && size == true_extent && true_lower == 0 && size > 0;
  info.contiguous = dense && (info.predefined || has_contiguous_base(type, envelope));
  return info;
}

/// Packs or unpacks groups of elements whose packed size fits an int; `one` handles a group.
template <class One>
int by_groups(MPI_Count count, const TypeInfo& info, const One& one) {
  const MPI_Count group = std::max<MPI_Count>(1, most_bytes_per_call / info.shape.bytes);
  for (MPI_Count done = 0; done < count; done += group) {
    const MPI_Count now = std::min(group, count - done);
    const int error = one(done * info.shape.extent, done * info.shape.bytes, now);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

/// Makes a type of `bytes` bytes, more than an int may count.
int make_bytes(std::int64_t bytes, MPI_Datatype* result) {
  constexpr int mebibyte = 1 << 20;
  MPI_Datatype large = native.datatype_null;
  int error = native.Type_contiguous(mebibyte, native.byte, &large);
  if (error != MPI_SUCCESS) return error;
  const std::array<int, 2> lengths = {static_cast<int>(bytes / mebibyte),
                                      static_cast<int>(bytes % mebibyte)};
  const std::array<MPI_Aint, 2> places = {0, bytes - bytes % mebibyte};
  const std::array<MPI_Datatype, 2> types = {large, native.byte};
  error = native.Type_create_struct(2, lengths.data(), places.data(), types.data(), result);
  native.Type_free(&large);
  return error != MPI_SUCCESS ? error : native.Type_commit(result);
}

/// Whether MPI_Pack and MPI_Unpack can't handle elements at an address: their ints don't count so
/// many bytes, and MPICH's refuse MPI_BOTTOM.
bool needs_message(const std::byte* at, std::int64_t bytes) {
  return bytes > most_bytes_per_call || at == nullptr;
}

/// Makes a type of packed data and gives it to `copy`, which returns MPI's error code.
template <class Copy>
int with_packed_type(std::int64_t bytes, const Copy& copy) {
  MPI_Datatype packed = native.datatype_null;
  int error = make_bytes(bytes, &packed);
  if (error != MPI_SUCCESS) return error;
  error = copy(packed);
  native.Type_free(&packed);
  return error;
}

} // namespace

int ToSelf::copy(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                 MPI_Datatype to_type) const {
  int self = 0;
  const int error = native.Comm_rank(comm, &self);
  if (error != MPI_SUCCESS) return error;
  return native.Sendrecv(from, from_count, from_type, self, tag, to, to_count, to_type, self, tag,
                         comm, MPI_STATUS_IGNORE);
}

const TypeInfo& inspect(MPI_Datatype type) {
  // A predefined type never changes; the handle of another may be used anew.
  struct Last {
    MPI_Datatype type;
    TypeInfo info;
  };
  static thread_local Last last{};
  if (!last.info.predefined || last.type != type) last = {type, look_at(type)};
  return last.info;
}

std::int64_t bytes_of(MPI_Count count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (count > 0) native.Type_size_x(type, &size);
  return count * size;
}

int pack(const void* buffer, MPI_Count count, MPI_Datatype type, const TypeInfo& info,
         std::byte* packed, const ToSelf& to_self) {
  const auto* from = static_cast<const std::byte*>(buffer);
  return by_groups(count, info, [&](std::int64_t offset, std::int64_t at, MPI_Count elements) {
    const std::int64_t bytes = elements * info.shape.bytes;
    const auto number = static_cast<int>(elements);
    if (needs_message(from + offset, bytes))
      return with_packed_type(bytes, [&](MPI_Datatype packed_type) {
        return to_self.copy(from + offset, number, type, packed + at, 1, packed_type);
      });
    int position = 0;
    return native.Pack(from + offset, number, type, packed + at, static_cast<int>(bytes), &position,
                       to_self.comm);
  });
}

int unpack(const std::byte* packed, void* buffer, MPI_Count count, MPI_Datatype type,
           const TypeInfo& info, const ToSelf& to_self) {
  auto* to = static_cast<std::byte*>(buffer);
  return by_groups(count, info, [&](std::int64_t offset, std::int64_t at, MPI_Count elements) {
    const std::int64_t bytes = elements * info.shape.bytes;
    const auto number = static_cast<int>(elements);
    if (needs_message(to + offset, bytes))
      return with_packed_type(bytes, [&](MPI_Datatype packed_type) {
        return to_self.copy(packed + at, 1, packed_type, to + offset, number, type);
      });
    int position = 0;
    return native.Unpack(packed + at, static_cast<int>(bytes), &position, to + offset, number, type,
                         to_self.comm);
  });
}

bool packs_exactly(MPI_Comm comm) {
  MPI_Datatype type = native.datatype_null; // two ints with a gap of one in between
  if (native.Type_vector(2, 1, 2, native.integer, &type) != MPI_SUCCESS) return false;
  if (native.Type_commit(&type) != MPI_SUCCESS) return false;
  const std::array<int, 3> in = {1, 2, 3};
  std::array<int, 3> out{};
  std::array<std::byte, 64> packed{};
  constexpr int expected = 2 * static_cast<int>(sizeof(int));
  int position = 0;
  bool good =
      native.Pack(in.data(), 1, type, packed.data(), expected, &position, comm) == MPI_SUCCESS &&
      position == expected;
  position = 0;
  good = good && native.Unpack(packed.data(), expected, &position, out.data(), 1, type, comm) ==
                     MPI_SUCCESS;
  native.Type_free(&type);
  return good && out == std::array<int, 3>{1, 0, 3};
}

} // namespace thalweg::runtime
