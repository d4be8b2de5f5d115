#include "runtime/mpi/process.hpp"

#include "units/hash.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <span>
#include <string_view>
#include <unistd.h>

#if defined(THALWEG_SIMULATED)
#include <simgrid/host.h>
#endif

// The linker's name for the start of this library.
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming)
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
}

namespace thalweg::runtime {
namespace {

std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  return realpath(path.c_str(), buffer.data()) != nullptr ? buffer.data() : path;
}

std::span<const ElfW(Phdr)> own_segments() {
  const auto* const base = reinterpret_cast<const char*>(&__ehdr_start);
  return {reinterpret_cast<const ElfW(Phdr)*>(base + __ehdr_start.e_phoff), __ehdr_start.e_phnum};
}

std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

/// Returns the hash of the build id among the notes in [at, at + size), or 0.
std::uint64_t build_id_in(const char* at, std::size_t size) {
  const char* const end = at + size;
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char* const content = at + sizeof note + aligned(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID) {
      Fnv1a hash;
      hash.add_bytes({reinterpret_cast<const std::byte*>(content), note.n_descsz});
      return hash.value();
    }
    at = content + aligned(note.n_descsz);
  }
  return 0;
}

} // namespace

std::string host_name() {
#if defined(THALWEG_SIMULATED)
  return sg_host_self_get_name();
#else
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
#endif
}

std::uint64_t build_id() {
  const char* const base = reinterpret_cast<const char*>(&__ehdr_start);
  for (const auto& segment : own_segments())
    if (segment.p_type == PT_NOTE)
      if (const auto id = build_id_in(base + segment.p_vaddr, segment.p_memsz)) return id;
  return 0;
}

bool is_own_code(std::uintptr_t address) {
  const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  return std::ranges::any_of(own_segments(), [&](const auto& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
           offset - segment.p_vaddr < segment.p_memsz;
  });
}

bool has_device_library() {
  // By the beginnings of their files' names: each major version has another name.
  const auto is_one = [](dl_phdr_info* object, std::size_t, void*) -> int {
    const std::string_view path = object->dlpi_name;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    constexpr std::array<std::string_view, 3> devices = {"libcuda.so", "libamdhip64.so",
                                                         "libze_loader.so"};
    return std::ranges::any_of(devices, [&](auto device) { return name.starts_with(device); });
  };
  return dl_iterate_phdr(is_one, nullptr) != 0;
}

std::string without(const std::string& list, const std::string& own) {
  std::string kept;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(": ", at), list.size());
    const std::string entry = list.substr(at, end - at);
    at = end + 1;
    if (entry.empty() || real_path(entry) == own) continue;
    if (!kept.empty()) kept += ':';
    kept += entry;
  }
  return kept;
}

void let_exceptions_pass() {
  try {
    throw 0;
  } catch (int) { // nothing else happens
  }
}

void leave_preload() {
  const char* const list = std::getenv("LD_PRELOAD");
  Dl_info self{};
  if (list == nullptr || dladdr(&__ehdr_start, &self) == 0 || self.dli_fname == nullptr) return;
  const std::string kept = without(list, real_path(self.dli_fname));
  if (kept.empty())
    unsetenv("LD_PRELOAD");
  else
    setenv("LD_PRELOAD", kept.c_str(), 1);
}

bool launched_first(bool all) {
  const std::array<const char*, 3> world = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
  const std::array<const char*, 6> host = {
      "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",   "SLURM_LOCALID", "PMI_LOCAL_RANK",
      "PALS_LOCAL_RANKID",          "FLUX_TASK_LOCAL_ID"};
  for (const char* name : all ? std::span<const char* const>(world) : host)
    if (const char* value = std::getenv(name)) return std::strcmp(value, "0") == 0;
  return true;
}

void say(const std::string& text) {
  // One write, so that lines of several ranks don't mix.
  const std::string line = "thalweg: " + text + "\n";
  std::fputs(line.c_str(), stderr);
}

} // namespace thalweg::runtime
