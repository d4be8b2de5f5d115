#pragma once

#include "schedule/schedule.hpp"

#include <filesystem>

namespace thalweg::bench {

/// What a schedule file holds (docs/schedule-file.md).
struct ScheduleFile {
  collective::Collective collective;
  schedule::Schedule schedule;
};

/// Reads a file that `thalweg.schedule.write` wrote; that doesn't look for what is superfluous.
/// @throws std::exception if the file isn't there, is no JSON or lacks something
ScheduleFile read_schedule(const std::filesystem::path& path);

} // namespace thalweg::bench
