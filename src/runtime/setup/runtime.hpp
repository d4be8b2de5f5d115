#pragma once

#include "planner/table.hpp"
#include "runtime/choose/settings.hpp"
#include "runtime/execute/helper.hpp"
#include "runtime/mpi/holds.hpp"
#include "runtime/observe/counters.hpp"
#include "runtime/observe/recorder.hpp"
#include "runtime/setup/communicator.hpp"
#include "runtime/setup/notices.hpp"
#include "runtime/setup/run_record.hpp"
#include "runtime/setup/tables.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::runtime {

/// The state from MPI_Init to MPI_Finalize.
struct Runtime {
  Settings settings;
  std::optional<Reason> reason; ///< why everything is native, if it is: equal on all ranks
  int world_rank = 0, world_size = 1;
  bool multiple_threads = false;       ///< MPI_THREAD_MULTIPLE
  int largest_tag = 32766;             ///< of collectives
  planner::PlanFile plan;              ///< its network is there whenever anything can be planned
  network::Placement hosts;            ///< by world rank; empty if not known
  MPI_Comm shadow{};                   ///< of COMM_WORLD, for all our messages
  std::unique_ptr<Helper> helper;      ///< for nonblocking collectives; null: they are native
  void (*forget_requests)() = nullptr; ///< called before the helper ends
  MPI_Comm helper_shadow{};       ///< of COMM_WORLD, for the helper's messages, if there is one
  Holds<MPI_Datatype> held_types; ///< by the helper's operations
  Holds<MPI_Op> held_ops;
  MPI_Comm self{}; ///< of COMM_SELF; its calls return errors
  Force force;
  std::uint64_t force_version = 0;
  bool ever_forced = false; ///< an algorithm, by THALWEG_FORCE or thalweg_force()
  bool only_counts = false; ///< calls: nobody records them, and one thread calls at a time
  Communicators communicators;
  Tables tables{observe::monotonic_ns()};
  SlowestPath slowest_path; ///< between its hosts
  Notices notices;
  std::vector<std::string> host_names; ///< by world rank; empty if nobody asked
  observe::Calibration clock;
  Observation observation;
  observe::Recorder recorder;        ///< open if events are recorded
  std::unique_ptr<RunRecord> record; ///< null if nothing else is
  observe::Tally<std::uint32_t> call_numbers;
  observe::Counters counters;             ///< of blocking calls
  observe::Counters nonblocking_counters; ///< if there is a helper

  [[nodiscard]] bool active() const { return !reason; }
  /// Returns the tag of messages by which clocks are compared.
  [[nodiscard]] int clock_tag() const { return largest_tag + 1; }
  /// Whether the ranks exchange messages of our own.
  [[nodiscard]] bool has_shadow() const { return active() || settings.observes(); }
  [[nodiscard]] bool on_one_host() const {
    return std::ranges::count(hosts, hosts.front()) == std::ssize(hosts);
  }
  /// Whether calls among ranks of one host are planned, and not only those between hosts.
  [[nodiscard]] bool plans_within_hosts() const {
    return settings.reproducible || settings.one_host;
  }
  /// Tells those who record how long a tick is, if it hasn't been for some time. @param now a time
  void keep_time(observe::Ticks now, bool at_once = false);
  [[nodiscard]] bool has_tables() const { return !settings.plan_seal.empty(); }

private:
  std::mutex _keeping_time;
  std::atomic<observe::Ticks> _time_due{0}; ///< when it is told again
};

/// Null before MPI_Init, after MPI_Finalize has begun, and with THALWEG=off.
extern std::atomic<Runtime*> runtime;

/// Starts the runtime; called in MPI_Init, when MPI is initialised. Collective over COMM_WORLD.
/// Never throws.
/// @param forget_requests lets go of the requests that the helper completes; called when no call of
/// the program can follow
void start(void (*forget_requests)());

/// Ends the runtime of a simulated rank; called before MPI_Finalize. SMPI deletes the attributes of
/// COMM_SELF, by which MPI_Finalize ends it elsewhere, when nothing can be sent any more.
void end();

/// Does the work of thalweg_force().
int set_force(const char* text);

} // namespace thalweg::runtime
