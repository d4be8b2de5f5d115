#pragma once

#include <cstdint>
#include <string>

/// What this library has to know of, or do to, the process it was loaded into.
namespace thalweg::runtime {

/// As the kernel has it, so with or without a domain.
std::string host_name();

/// Of the file this library was loaded from: its build id, or 0 if it has none.
std::uint64_t build_id();

/// Whether a library that manages another device's memory is loaded (CUDA, ROCm, Level Zero).
bool has_device_library();

/// Takes this library out of LD_PRELOAD, for the processes that this one starts.
void leave_preload();

/// `list` (separated by colons or spaces) without the entries that name the file `own`.
std::string without(const std::string& list, const std::string& own);

/// Whether the launcher says that this is the first rank (`all`) or the first of its host. For use
/// where MPI can't be asked.
bool launched_first(bool all);

/// One line on standard error: "thalweg: <text>".
void say(const std::string& text);

} // namespace thalweg::runtime
