#include "runtime/mpi/ops.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

namespace thalweg::runtime {
namespace {

bool is_predefined(MPI_Op op) {
  const std::array<MPI_Op, 14> predefined = {
      native.max,    native.min,    native.sum,     native.prod, native.land,
      native.band,   native.lor,    native.bor,     native.lxor, native.bxor,
      native.maxloc, native.minloc, native.replace, native.no_op};
  return std::ranges::find(predefined, op) != predefined.end();
}

/// Asks the library, by a reduction of one zero.
bool accepts(MPI_Op op, MPI_Datatype type, MPI_Comm self) {
  MPI_Aint lower = 0, extent = 0;
  alignas(64) std::array<std::byte, 256> in{}, out{};
  if (native.Type_get_true_extent(type, &lower, &extent) != MPI_SUCCESS ||
      extent > static_cast<MPI_Aint>(in.size()))
    return false;
  return native.Allreduce(in.data(), out.data(), 1, type, op, self) == MPI_SUCCESS;
}

} // namespace

bool may_reduce(MPI_Op op, MPI_Datatype type, bool predefined_type, MPI_Comm self) {
  if (op == native.op_null || op == native.replace || op == native.no_op) return false;
  if (!is_predefined(op)) {
    int commutative = 0;
    return native.Op_commutative(op, &commutative) == MPI_SUCCESS && commutative != 0;
  }
  if (!predefined_type) return false;
  // Neither operation nor type is ever freed, so their handles can be remembered.
  struct Known {
    MPI_Op op;
    MPI_Datatype type;
    bool good;
  };
  static std::mutex mutex, asking;
  static std::vector<Known> known;
  const auto find = [&]() -> std::optional<bool> {
    const std::lock_guard lock(mutex);
    for (const Known& it : known)
      if (it.op == op && it.type == type) return it.good;
    return std::nullopt;
  };
  if (const auto answer = find()) return *answer;
  // A communicator is in one collective at a time; nobody waits for that who asks what is known.
  const std::lock_guard turn(asking);
  if (const auto answer = find()) return *answer; // which another thread has found meanwhile
  const bool good = accepts(op, type, self);
  const std::lock_guard lock(mutex);
  known.push_back({op, type, good});
  return good;
}

} // namespace thalweg::runtime
