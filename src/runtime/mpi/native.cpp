#include "runtime/mpi/native.hpp"

#include "runtime/mpi/process.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <string_view>

namespace thalweg::runtime {

Native native;

void other_library() {
  say(std::string("libthalweg-") + flavour +
      ".so is preloaded into a program of another MPI library; preload the one made for it");
  std::_Exit(1);
}

#if defined(THALWEG_SIMULATED)

namespace {

/// Executes blocking collectives in place of SMPI's nonblocking ones, most of which send from each
/// rank to each other: the runtime begins its own in the same call on all ranks, which allows that.
template <auto collective>
struct Blocking;
template <class... Arguments, int (*collective)(Arguments...)>
struct Blocking<collective> {
  static int run(Arguments... arguments, MPI_Request* request) {
    *request = MPI_REQUEST_NULL;
    return collective(arguments...);
  }
};

} // namespace

bool resolve_native() {
#define THALWEG_RESOLVE(name) native.name = &::PMPI_##name;
  THALWEG_NATIVE_FUNCTIONS(THALWEG_RESOLVE)
#undef THALWEG_RESOLVE
#define THALWEG_RESOLVE(member, type, symbol, name) native.member = name;
  THALWEG_NATIVE_HANDLES(THALWEG_RESOLVE)
#undef THALWEG_RESOLVE
  native.Iallgather = &Blocking<PMPI_Allgather>::run;
  native.Iallgatherv = &Blocking<PMPI_Allgatherv>::run;
  native.Iallreduce = &Blocking<PMPI_Allreduce>::run;
  native.Ibarrier = &Blocking<PMPI_Barrier>::run;
  native.Ibcast = &Blocking<PMPI_Bcast>::run;
  native.Ireduce = &Blocking<PMPI_Reduce>::run;
  return true;
}

#else

namespace {

#if defined(OPEN_MPI)
constexpr const char* sonames[] = {"libmpi.so.40"};
#else
constexpr const char* sonames[] = {"libmpich.so.12", "libmpi.so.12"};
#endif

void* loaded_symbol(const char* symbol) {
  for (const char* soname : sonames)
    if (void* library = dlopen(soname, RTLD_NOW | RTLD_NOLOAD)) {
      void* found = dlsym(library, symbol);
      dlclose(library);
      if (found != nullptr) return found;
    }
  return nullptr;
}

#if defined(OPEN_MPI)
/// Doesn't use RTLD_NEXT, since the program may hold the only copy of the library's data (a copy
/// relocation).
void* data_symbol(const char* symbol) {
  void* found = dlsym(RTLD_DEFAULT, symbol);
  return found != nullptr ? found : loaded_symbol(symbol);
}
#endif

} // namespace

namespace {

/// Whether MPI's functions are those of a library that has all of them, and other handles than
/// ours: of MPI's standard ABI, or of MPItrampoline, which opens the MPI library at run time.
bool has_other_handles() {
  Dl_info where{};
  if (dladdr(next_symbol("PMPI_Init"), &where) == 0 || where.dli_fname == nullptr) return false;
  const std::string_view path = where.dli_fname;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libmpi_abi") || name.starts_with("libmpitrampoline");
}

} // namespace

void* next_symbol(const char* symbol) {
  void* found = dlsym(RTLD_NEXT, symbol);
  return found != nullptr ? found : loaded_symbol(symbol);
}

bool resolve_native() {
  bool good = !has_other_handles();
#define THALWEG_RESOLVE(name)                                                                      \
  native.name = reinterpret_cast<decltype(native.name)>(next_symbol("PMPI_" #name));               \
  good &= native.name != nullptr;
  THALWEG_NATIVE_FUNCTIONS(THALWEG_RESOLVE)
#undef THALWEG_RESOLVE
  native.type_get_envelope_c = reinterpret_cast<decltype(native.type_get_envelope_c)>(
      next_symbol("PMPI_Type_get_envelope_c"));
  native.comm_test_threadcomm = reinterpret_cast<decltype(native.comm_test_threadcomm)>(
      next_symbol("PMPIX_Comm_test_threadcomm"));
#if defined(OPEN_MPI)
#define THALWEG_RESOLVE(member, type, symbol, name)                                                \
  native.member = static_cast<type>(data_symbol(#symbol));                                         \
  good &= native.member != nullptr;
#else
#define THALWEG_RESOLVE(member, type, symbol, name) native.member = name;
  good &= dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") == nullptr;
#endif
  THALWEG_NATIVE_HANDLES(THALWEG_RESOLVE)
#undef THALWEG_RESOLVE
  return good;
}

#endif

} // namespace thalweg::runtime
