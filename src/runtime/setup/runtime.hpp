#pragma once

#include "planner/table.hpp"
#include "runtime/choose/settings.hpp"
#include "runtime/execute/helper.hpp"
#include "runtime/mpi/holds.hpp"
#include "runtime/observe/counters.hpp"
#include "runtime/observe/matrix_row.hpp"
#include "runtime/observe/recorder.hpp"
#include "runtime/setup/communicator.hpp"
#include "runtime/setup/destinations.hpp"
#include "runtime/setup/notices.hpp"
#include "runtime/setup/tables.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

namespace thalweg::runtime {

/// The state from MPI_Init to MPI_Finalize.
struct Runtime {
  Settings settings;
  std::optional<Reason> reason; ///< why everything is native, if it is: equal on all ranks
  int world_rank = 0, world_size = 1;
  bool multiple_threads = false; ///< MPI_THREAD_MULTIPLE
  int largest_tag = 32767;
  planner::PlanFile plan;         ///< its network is there whenever anything can be planned
  network::Placement hosts;       ///< by world rank; empty if not known
  MPI_Comm shadow{};              ///< of COMM_WORLD, for all our messages
  std::unique_ptr<Helper> helper; ///< for nonblocking collectives; null: they are native
  MPI_Comm helper_shadow{};       ///< of COMM_WORLD, for the helper's messages, if there is one
  Holds<MPI_Datatype> held_types; ///< by the helper's operations
  Holds<MPI_Op> held_ops;
  MPI_Comm self{}; ///< of COMM_SELF; its calls return errors
  Force force;
  std::uint64_t force_version = 0;
  bool ever_forced = false; ///< an algorithm, by THALWEG_FORCE or thalweg_force()
  Communicators communicators;
  Tables tables{observe::monotonic_ns()};
  SlowestPath slowest_path; ///< between its hosts
  Notices notices;
  observe::Recorder recorder;
  observe::Counters counters;               ///< of blocking calls
  observe::Counters nonblocking_counters;   ///< if there is a helper
  observe::MatrixRow matrix_row;            ///< open if messages are recorded
  std::optional<Destinations> destinations; ///< of messages, if they are recorded

  [[nodiscard]] bool active() const { return !reason; }
  [[nodiscard]] bool on_one_host() const {
    return std::ranges::count(hosts, hosts.front()) == std::ssize(hosts);
  }
  /// Whether calls among ranks of one host are planned, and not only those between hosts.
  [[nodiscard]] bool plans_within_hosts() const {
    return settings.reproducible || settings.one_host;
  }
  /// Whether anybody wants to read what is recorded.
  [[nodiscard]] bool traces() const { return !settings.trace.empty(); }
  [[nodiscard]] bool has_tables() const { return !settings.plan.empty(); }
};

/// Null before MPI_Init, after MPI_Finalize has begun, and with THALWEG=off.
extern std::atomic<Runtime*> runtime;

/// Starts the runtime; called in MPI_Init, when MPI is initialised. Collective over COMM_WORLD.
/// Never throws.
void start();

/// Ends the helper, if there is one; called before MPI_Finalize.
void end_helper();

/// Does the work of thalweg_force().
int set_force(const char* text);

} // namespace thalweg::runtime
