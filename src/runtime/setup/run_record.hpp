#pragma once

#include "runtime/observe/call_table.hpp"
#include "runtime/observe/clock_history.hpp"
#include "runtime/observe/links.hpp"
#include "runtime/observe/matrix_row.hpp"
#include "runtime/observe/record_file.hpp"
#include "runtime/setup/destinations.hpp"
#include "runtime/setup/windows.hpp"

#include <string>
#include <vector>

namespace thalweg::runtime {

struct Runtime;

/// What this process adds to the run record. The file must be open.
struct RunRecord {
  RunRecord(std::vector<std::int32_t> hosts, int world_size, observe::Links::Expect expect)
      : messages(file, world_size), one_sided(file, world_size), neighbor_blocks(file, world_size),
        calls(file), links(file, std::move(hosts), std::move(expect)), destinations(world_size),
        windows(world_size) {}

  observe::RecordFile file;
  observe::MatrixRow messages;
  observe::OneSidedRow one_sided;
  observe::NeighborBlocksRow neighbor_blocks;
  observe::CallTable calls;
  observe::Links links;
  Destinations destinations;
  Windows windows;
};

/// What is known of a run that is observed: recorded, traced, or both.
struct Observation {
  std::vector<std::int32_t> hosts;  ///< of each rank: numbers in the order of appearance
  std::string begin_time, end_time; ///< ISO 8601, UTC
  /// The first comparison is that in MPI_Init, the last that in MPI_Finalize, if it came to that.
  observe::ClockHistory clocks;
  observe::ComparedClock clock;          ///< of this host
  std::uint64_t calls = 0;               ///< on communicators of all ranks
  std::uint64_t compared = 0;            ///< call after which the clocks were compared last
  std::uint64_t next = 1024;             ///< call from which on the next comparison is due
  std::int64_t compared_ns = 0;          ///< when, by rank 0's clock
  std::int64_t pause_ns = 2'000'000'000; ///< wanted between two comparisons
};

/// Begins to record and to trace, as far as that is wanted. Collective over the shadow of
/// COMM_WORLD if anything is.
void begin_observation(Runtime& runtime);

/// Compares the hosts' clocks while the program runs, which is due now. All ranks have just left a
/// call that none of them left before all had entered it, so that they are here at about the same
/// time. Collective as begin_observation().
void compare_clocks_now(Runtime& runtime);

/// Writes what is left to write: the files of all ranks become one, if they aren't too large.
/// Collective as begin_observation().
void end_observation(Runtime& runtime);

} // namespace thalweg::runtime
