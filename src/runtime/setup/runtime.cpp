#include "runtime/setup/runtime.hpp"

#include "runtime/adapt/replanner.hpp"
#include "runtime/execute/own_arithmetic.hpp"
#include "runtime/mpi/datatype.hpp"
#include "runtime/mpi/error.hpp"
#include "runtime/mpi/faults.hpp"
#include "runtime/mpi/process.hpp"
#include "runtime/setup/agreement.hpp"
#include "runtime/setup/hosts.hpp"
#include "runtime/setup/plan.hpp"
#include "runtime/setup/share.hpp"
#include "units/fields.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace thalweg::runtime {

std::atomic<Runtime*> runtime{nullptr};

namespace {

/// Returns how long this rank waits for the others at set-up. Rank 0's settings remark on an error.
double patience_s() {
  try {
    return seconds_of_patience();
  } catch (const std::invalid_argument&) {
    return usual_patience_s;
  }
}

AgreementRecord own_record(MPI_Comm comm) {
  AgreementRecord record;
  int level = 0;
  native.Query_thread(&level);
  record.values[AgreementRecord::build] = build_id();
  record.values[AgreementRecord::off] = is_switched_off() ? 1 : 0;
  record.values[AgreementRecord::thread_level] = static_cast<std::uint64_t>(level);
  record.values[AgreementRecord::device] = has_device_library() ? 1 : 0;
  record.values[AgreementRecord::packs_exactly] = packs_exactly(comm) ? 1 : 0;
  record.values[AgreementRecord::tolerates_faults] = tolerates_faults(comm) ? 1 : 0;
  void* value = nullptr;
  int found = 0;
  native.Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&value), &found);
  record.largest_tag = found != 0 ? static_cast<std::uint64_t>(*static_cast<int*>(value)) : 32767;
  return record;
}

bool is_spawned() {
  if constexpr (is_simulated) return false; // SMPI can't say
  MPI_Comm parent = native.comm_null;
  native.Comm_get_parent(&parent);
  return parent != native.comm_null;
}

/// Why everything is native.
struct Obstacle {
  Reason reason{};
  std::string text = {}; ///< for the user; empty: nothing is said
};

/// The obstacle that some ranks don't have the library, or have given up waiting for the others.
Obstacle missing_library() {
  return {Reason::disagreement,
          "some ranks don't have this library loaded, or took longer than THALWEG_SETUP_TIMEOUT "
          "(30 s) to get ready, as to read a long plan: give all hosts the same LD_PRELOAD (mpirun "
          "-x LD_PRELOAD), start with 'thalweg run', or allow more seconds"};
}

/// Lets the first rank of each host say that some ranks don't have the library, since rank 0, which
/// says obstacles, may be one of them, and nobody knows.
void say_missing_library(const Runtime& it) {
  if (it.world_rank != 0 && launched_first(false))
    say(missing_library().text + "; everything is native");
}

/// Gives all ranks rank 0's settings, which alone keeps the plan's content and the remarks. Returns
/// whether all ranks have called this within the time limit. Collective.
bool share_settings(Settings& settings, int rank, double seconds) {
  std::string bytes = settings.to_bytes();
  if (!share_within(seconds, bytes, native.comm_world)) return false;
  if (rank != 0) settings = Settings::from_bytes(bytes);
  return true;
}

/// Returns why nothing can be planned by the settings, if nothing can.
std::optional<Obstacle> obstacle_in(const Settings& settings) {
  if (settings.problem.empty() && settings.planned) return std::nullopt;
  // A program may be recorded without any plan.
  const bool is_surprising = settings.problem.empty() && settings.record.empty();
  return Obstacle{Reason::no_plan, is_surprising ? "neither THALWEG_PLAN nor THALWEG_FORCE is set"
                                                 : settings.problem};
}

/// Says what the user may not expect of a plan that was read.
void remark_on_plan(const Runtime& it) {
  if (it.world_rank != 0) return;
  if (const std::string text = misplacement(it.plan, it.hosts); !text.empty()) say(text);
  if (it.settings.reproducible && it.multiple_threads)
    say("THALWEG_REPRODUCIBLE: the program has MPI_THREAD_MULTIPLE: the first reductions on a "
        "communicator other than MPI_COMM_WORLD are native");
  const std::size_t hosts = std::set<network::HostId>(it.hosts.begin(), it.hosts.end()).size();
  if (it.settings.adapt && !Replanner::follows(hosts, it.plan.network))
    say("THALWEG_ADAPT: plans stay as they are: they follow networks of up to " +
        std::to_string(Replanner::most_network) + " hosts, between ranks on up to " +
        std::to_string(Replanner::most_hosts));
}

/// Reads the plan. Returns why it can't be used, if it can't. Collective.
std::optional<Obstacle> obstacle_in_plan(Runtime& it, const Agreement& agreement) {
  try {
    read_plan(it, agreement);
  } catch (const std::invalid_argument& error) {
    return Obstacle{Reason::no_plan, error.what()};
  }
  const auto unknown = std::ranges::find(it.hosts, network::no_host);
  if (unknown != it.hosts.end())
    return Obstacle{Reason::unknown_host, "host '" +
                                              it.host_names[index(unknown - it.hosts.begin())] +
                                              "' isn't in the plan's network"};
  remark_on_plan(it);
  // The same program may run on several hosts another time.
  if (!it.on_one_host() || it.plans_within_hosts()) return std::nullopt;
  return Obstacle{Reason::single_host,
                  it.ever_forced ? "THALWEG_FORCE: all ranks are on one host" : ""};
}

/// Gets ready to plan. Returns why nothing can be planned, if nothing can. Collective, except for a
/// single rank. All ranks get the same result, except for the text.
std::optional<Obstacle> prepare(Runtime& it) {
  if (is_spawned()) return Obstacle{Reason::spawned, "a spawned world isn't planned for"};
  // What takes long comes before what has a time limit. Rank 0's settings hold once all ranks have
  // them.
  Settings settings;
  if (it.world_rank == 0 && !is_switched_off()) settings = Settings::from_environment();
  std::string seal;
  if (it.world_size > 1) seal = open_plan(it, settings);
  const double seconds = patience_s();
  Agreement agreement;
  if (it.world_size > 1) {
    AgreementRecord own = own_record(native.comm_world);
    tell_plan(it, seal, own);
    agreement = agree(own, native.comm_world, seconds);
    if (agreement.somebody_is_missing) {
      say_missing_library(it);
      return missing_library();
    }
  } else if (is_switched_off()) {
    agreement.reason = Reason::off;
  }
  if (!agreement.difference.empty())
    return Obstacle{Reason::disagreement, "ranks differ in " + agreement.difference};
  if (agreement.reason == Reason::off) return Obstacle{Reason::off};
  it.largest_tag = static_cast<int>(agreement.largest_tag) - 1; // the last one is for clocks

  // Twice the time: a rank that has the others' records waits for those that give up. All have the
  // library then, so that rank 0 says it.
  if (it.world_size > 1 && !share_settings(settings, it.world_rank, 2 * seconds))
    return missing_library();
  it.settings = std::move(settings);
  it.settings.hold_paths();
  if (seal != it.settings.plan_seal) it.plan = {}; // not rank 0's
  for (const std::string& remark : it.settings.remarks)
    say(remark);
  if (agreement.reason == Reason::fault_tolerance) {
    // Messages of our own would wait for the dead, and nobody can revoke their communicator.
    it.settings.record.clear();
    it.settings.trace.clear();
    return Obstacle{Reason::fault_tolerance,
                    "the MPI library goes on when ranks die (mpirun --with-ft): nothing is "
                    "recorded"};
  }
  if (agreement.reason == Reason::device)
    return Obstacle{Reason::device, "a device library (CUDA, ROCm, Level Zero) is loaded"};
  if (agreement.reason == Reason::datatype)
    return Obstacle{Reason::datatype, "the MPI library packs data in a form of its own"};
  if (auto obstacle = obstacle_in(it.settings)) return obstacle;
  if (it.world_size == 1) return Obstacle{Reason::single_rank};
  return obstacle_in_plan(it, agreement);
}

MPI_Comm shadow_of(MPI_Comm comm, const char* name) {
  MPI_Group group{};
  MPI_Comm shadow = native.comm_null;
  native.Comm_group(comm, &group);
  native.Comm_create(comm, group, &shadow);
  native.Group_free(&group);
  native.Comm_set_errhandler(shadow, native.errors_return);
  native.Comm_set_name(shadow, name);
  return shadow;
}

/// Starts the helper, if it is wanted. Collective.
void start_helper(Runtime& it) {
  if (!it.settings.nonblocking) return;
  const auto refuse = [&](const std::string& why) {
    if (it.world_rank == 0)
      say("THALWEG_NONBLOCKING: " + why + "; nonblocking collectives are native");
  };
  if (!it.multiple_threads) return refuse("the program doesn't have MPI_THREAD_MULTIPLE");
  try {
    it.helper = std::make_unique<Helper>();
  } catch (const std::exception&) {
    it.helper.reset();
  }
  const int own = it.helper != nullptr ? 1 : 0;
  int all = 0;
  native.Allreduce(&own, &all, 1, native.integer, native.min, it.shadow);
  if (all != 0) {
    it.helper_shadow = shadow_of(native.comm_world, "thalweg nonblocking");
    return;
  }
  it.helper.reset();
  refuse("a rank can't start a thread");
}

/// Ends the helper, if there is one.
void end_helper(Runtime& it) {
  if (it.helper == nullptr) return;
  it.forget_requests();
  it.helper->hold_up_callers(0); // Streams settle at once, and all that follows is ours.
  it.communicators.end_streams();
  it.helper->end(observe::monotonic_ns() + longest_settling_ns);
}

/// Ends what started in start(). The program's own callbacks of COMM_SELF, which may start what the
/// helper carries out, have been called before.
void finish_run(Runtime& it) {
  end_helper(it);
  const OwnArithmetic arithmetic;
  runtime = nullptr;
  end_observation(it);
  if (it.active()) it.communicators.settle();
  if (it.has_shadow()) {
    if (it.ever_forced || it.settings.reproducible || it.settings.observes())
      it.notices.collect(it.shadow, it.clock_tag());
    native.Comm_free(&it.shadow);
  }
  if (it.active()) {
    native.Comm_free(&it.self);
    if (it.helper != nullptr) native.Comm_free(&it.helper_shadow);
  }
  if (it.record) it.record->destinations.free_keyval();
  it.communicators.free_keyval();
}

/// The callback of an attribute of COMM_SELF, which MPI_Finalize calls first on every rank.
int on_finalize(MPI_Comm, int, void* value, void*) {
  return code_of([&] { finish_run(*static_cast<Runtime*>(value)); });
}

void at_finalize(Runtime& it) {
  int keyval = MPI_KEYVAL_INVALID;
  native.Comm_create_keyval(no_copy, on_finalize, &keyval, nullptr);
  native.Comm_set_attr(native.comm_self, keyval, &it);
  native.Comm_free_keyval(&keyval); // lives on until the attribute goes
}

} // namespace

void start(void (*forget_requests)()) {
  const OwnArithmetic arithmetic;
  if (!resolve_native()) other_library();
  leave_preload();
  let_exceptions_pass();
  // Never freed: MPI may call back for communicators that the program leaves unfreed.
  static Runtime* const it = new Runtime;
  it->forget_requests = forget_requests;
  native.Comm_rank(native.comm_world, &it->world_rank);
  native.Comm_size(native.comm_world, &it->world_size);
  int level = 0;
  native.Query_thread(&level);
  it->multiple_threads = level == MPI_THREAD_MULTIPLE;
  observe::concurrent = it->multiple_threads;
  if (const std::optional<Obstacle> obstacle = prepare(*it)) {
    it->reason = obstacle->reason;
    if (!obstacle->text.empty() && it->world_rank == 0)
      say(obstacle->text + "; everything is native");
  }
  if (it->reason == Reason::off) return;
  if (it->has_shadow()) it->shadow = shadow_of(native.comm_world, "thalweg");
  if (it->active()) {
    it->self = shadow_of(native.comm_self, "thalweg self");
    start_helper(*it);
    it->slowest_path = SlowestPath::of(it->plan.network, it->hosts);
  }
  begin_observation(*it);
  it->communicators.add_world(*it);
  if constexpr (!is_simulated) at_finalize(*it); // else end()
  it->only_counts = !it->settings.observes() && !it->settings.reproducible && !it->multiple_threads;
  runtime = it;
}

void end() {
  if (Runtime* const it = runtime) finish_run(*it);
}

void Runtime::keep_time(observe::Ticks now, bool at_once) {
  constexpr double pause_ns = 1e8;
  if (!at_once && now < _time_due) return;
  const std::unique_lock lock(_keeping_time, std::try_to_lock);
  if (!lock) return;
  const OwnArithmetic arithmetic;
  clock.calibrate();
  _time_due = now + static_cast<observe::Ticks>(pause_ns / clock.scale().ns_per_tick);
  if (recorder.is_open()) recorder.set_scale(clock.scale());
  if (!record) return;
  record->file.header().scale = clock.scale();
  record->links.set_scale(clock.scale());
}

int set_force(const char* text) {
  Runtime* const it = runtime;
  if (it == nullptr || !it->active() || text == nullptr) return -1;
  try {
    Force force = parse_force(text);
    it->force = std::move(force);
    it->ever_forced |= it->force.names_algorithms();
  } catch (const std::invalid_argument& error) {
    if (it->world_rank == 0) say(error.what());
    return -1;
  }
  ++it->force_version;
  return 0;
}

} // namespace thalweg::runtime
