#include "runtime/mpi/faults.hpp"

#include <cstring>
#include <doctest/doctest.h>

namespace thalweg::runtime {
namespace {

const char* version = nullptr;
int tolerant = 0;
int asked_about = -1; ///< an attribute

int get_library_version(char* text, int* length) {
  std::strcpy(text, version);
  *length = static_cast<int>(std::strlen(version));
  return MPI_SUCCESS;
}

int comm_get_attr(MPI_Comm /*comm*/, int keyval, void* value, int* found) {
  asked_about = keyval;
  *static_cast<void**>(value) = &tolerant;
  *found = 1;
  return MPI_SUCCESS;
}

} // namespace

TEST_CASE("Open MPI 5 alone is asked whether it tolerates faults") {
  native.Get_library_version = get_library_version;
  native.Comm_get_attr = comm_get_attr;
  version = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";
  tolerant = 1;
  CHECK_FALSE(tolerates_faults(native.comm_world));
  CHECK(asked_about == -1); // It would be an error.
  version = "Open MPI v5.0.11, package: Open MPI, ident: 5.0.11";
  CHECK(tolerates_faults(native.comm_world));
  CHECK(asked_about == 12);
  tolerant = 0;
  CHECK_FALSE(tolerates_faults(native.comm_world));
}

} // namespace thalweg::runtime
