#include "runtime/choose/plan_copy.hpp"

#include "runtime/choose/settings.hpp"

#include <exception>
#include <linux/magic.h>
#include <span>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace thalweg::runtime {
namespace {

/// The size of a plan file's header (docs/plan-file.md).
constexpr std::size_t seal_bytes = 32;

/// Whether a path leads to a file on a disk of this machine, or in its memory.
bool is_on_this_machine(const std::string& path) {
  struct stat status {};
  struct statfs system {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (statfs(path.c_str(), &system) != 0) return false;
  constexpr unsigned long zfs = 0x2fc12fc1;
  switch (static_cast<unsigned long>(system.f_type) & 0xffffffff) {
  case EXT4_SUPER_MAGIC:
  case XFS_SUPER_MAGIC:
  case BTRFS_SUPER_MAGIC:
  case F2FS_SUPER_MAGIC:
  case TMPFS_MAGIC:
  case RAMFS_MAGIC:
  case OVERLAYFS_SUPER_MAGIC:
  case zfs:
    return true;
  default:
    return false;
  }
}

} // namespace

std::string seal_of(const std::string& plan) { return plan.substr(0, seal_bytes); }

std::optional<PlanCopy> local_copy(const std::string& path) {
  try {
    if (!is_on_this_machine(path)) return std::nullopt;
    const std::string content = read_file(path);
    return PlanCopy{seal_of(content), planner::from_bytes(std::as_bytes(std::span(content)))};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

} // namespace thalweg::runtime
