#include "runtime/mpi/faults.hpp"

#include <array>
#include <string_view>

namespace thalweg::runtime {

#if defined(OPEN_MPI)

namespace {

/// MPI_FT of Open MPI 5. The headers of 4.1, which this is compiled with, too, have another
/// attribute by this number, about which that library can't be asked.
constexpr int fault_tolerance = 12;

bool is_version_5() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  native.Get_library_version(version.data(), &length);
  return std::string_view(version.data()).starts_with("Open MPI v5.");
}

} // namespace

bool tolerates_faults(MPI_Comm world) {
  if (!is_version_5()) return false;
  void* value = nullptr;
  int found = 0;
  native.Comm_get_attr(world, fault_tolerance, static_cast<void*>(&value), &found);
  return found != 0 && *static_cast<int*>(value) != 0;
}

#else

bool tolerates_faults(MPI_Comm /*world*/) { return false; }

#endif

} // namespace thalweg::runtime
