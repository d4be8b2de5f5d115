#pragma once

#include <cstdint>
#include <string>

/// The process that this library was loaded into.
namespace thalweg::runtime {

/// Returns the kernel's name of the host, with or without a domain; a simulation's name of it.
std::string host_name();

/// Returns the build id of the file this library was loaded from, or 0 if it has none.
std::uint64_t build_id();

/// Whether an address is of this library's code.
bool is_own_code(std::uintptr_t address);

/// Whether a library that manages another device's memory is loaded (CUDA, ROCm, Level Zero).
bool has_device_library();

/// Lets exceptions of the program pass through this library's functions: the unwinder that is
/// linked into it makes its tables when it throws for the first time, and destructors need them.
void let_exceptions_pass();

/// Removes this library from LD_PRELOAD for the processes that this one starts.
void leave_preload();

/// Returns `list` (separated by colons or spaces) without the entries that name the file `own`.
std::string without(const std::string& list, const std::string& own);

/// Whether the launcher says that this is the first rank (`all`) or the first of its host, for use
/// where MPI can't be asked.
bool launched_first(bool all);

/// Prints one line on standard error: "thalweg: <text>".
void say(const std::string& text);

} // namespace thalweg::runtime
