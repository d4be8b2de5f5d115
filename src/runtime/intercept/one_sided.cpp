#include "runtime/intercept/one_sided.hpp"

#include "runtime/mpi/datatype.hpp"
#include "runtime/setup/runtime.hpp"

#include <exception>

namespace thalweg::runtime {

void count_access(const Access& access) {
  Runtime* const it = runtime;
  if (it == nullptr || !it->record || access.target < 0) return;
  try {
    const int target = it->record->windows.world_rank(access.window, access.target);
    if (target < 0) return;
    const auto bytes = static_cast<std::uint64_t>(bytes_of(access.count, access.type));
    if (access.writes) it->record->one_sided.count_write(target, bytes);
    if (access.reads) it->record->one_sided.count_read(target, bytes);
  } catch (const std::exception&) { // without memory, accesses are not counted
    return;
  }
}

void forget_window(MPI_Win window) {
  Runtime* const it = runtime;
  if (it != nullptr && it->record) it->record->windows.forget(window);
}

} // namespace thalweg::runtime
