#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mpi.h>
#include <string>
#include <utility>
#include <vector>

/// Helpers of the MPI test programs, which run preloaded and find the runtime's own functions if
/// they are there.
namespace thalweg::test {

inline std::atomic<int> failures = 0;
inline thread_local std::string context; ///< what the thread is doing, for messages

inline int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
inline int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

inline void check(bool good, const std::string& what) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "rank %d: wrong: %s (%s)\n", rank_of(MPI_COMM_WORLD), what.c_str(),
               context.c_str());
}

/// Whether the MPI library that the program runs with has a function. The preloaded library has
/// those of all its releases.
inline bool library_has(const std::string& name) {
  for (const char* const soname : {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"})
    if (void* const library = dlopen(soname, RTLD_NOW | RTLD_NOLOAD)) {
      const bool has = dlsym(library, name.c_str()) != nullptr;
      dlclose(library);
      return has;
    }
  return false;
}

/// Tells whoever waits for it that calls are going on.
inline void say_begun() {
  if (const char* const path = std::getenv("TEST_BEGUN"))
    if (std::FILE* const file = std::fopen(path, "w")) std::fclose(file);
}

/// What a test program can run, by name.
using Cases = std::vector<std::pair<std::string, void (*)()>>;

/// Runs the case of that name; one that isn't there is a failure. MPI need not be initialised.
inline void run_case(const Cases& cases, const std::string& wanted) {
  for (const auto& [name, run] : cases)
    if (name == wanted) {
      context = name;
      return run();
    }
  ++failures;
  std::fprintf(stderr, "wrong: no case '%s'\n", wanted.c_str());
}

/// Calls thalweg_force(); returns false if the runtime is missing or refuses.
inline bool force(const std::string& text) {
  static const auto function =
      reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "thalweg_force"));
  return function != nullptr && function(text.c_str()) == 0;
}

inline std::uint64_t hash(const std::vector<unsigned char>& data) {
  std::uint64_t result = 0xcbf29ce484222325;
  for (const unsigned char byte : data)
    result = (result ^ byte) * 0x100000001b3;
  return result;
}

/// Whether all ranks have the same value, by a collective that isn't intercepted.
inline void check_same_bits(const std::vector<unsigned char>& data, MPI_Comm comm,
                            const std::string& what) {
  const std::uint64_t mine = hash(data);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(size_of(comm)));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (const std::uint64_t other : all)
    check(other == mine, what + ": ranks differ");
}

} // namespace thalweg::test
