#include "runtime/setup/run_record.hpp"

#include "runtime/mpi/process.hpp"
#include "runtime/observe/counted.hpp"
#include "runtime/observe/json_text.hpp"
#include "runtime/observe/summary.hpp"
#include "runtime/setup/clocks.hpp"
#include "runtime/setup/hosts.hpp"
#include "runtime/setup/plan.hpp"
#include "runtime/setup/runtime.hpp"
#include "units/fields.hpp"
#include "units/index.hpp"
#include "units/whole_file.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <unistd.h>
#include <utility>

namespace thalweg::runtime {
namespace {

using observe::ClockReading;
using observe::list;
using observe::quoted;

/// The most bytes of all ranks' files that rank 0 makes one of.
constexpr std::int64_t most_merged = std::int64_t{64} << 20;
/// The longest pause between two comparisons, unless they take too much of the time.
constexpr std::int64_t most_pause_ns = 64'000'000'000;
/// A comparison takes about sixteen times as long as the largest error, which is half of the
/// shortest round trip: so it takes 0.5 % of the time.
constexpr std::int64_t errors_in_pause = std::int64_t{16} * 200;
constexpr std::int64_t most_growth = 4; ///< of the calls between two comparisons

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// Returns the words that this process was started with.
std::vector<std::string> command() {
  std::vector<std::string> words;
  try {
    const std::string all = read_file("/proc/self/cmdline");
    for (std::size_t at = 0; at < all.size(); at += words.back().size() + 1)
      words.emplace_back(all.c_str() + at);
  } catch (const std::invalid_argument&) {
    words.clear(); // there is no /proc
  }
  return words;
}

void note(Runtime& it, const char* variable, const std::string& problem) {
  if (!problem.empty())
    it.notices.add({variable, variable + (": " + problem)}, it.world_rank, true);
}

/// Returns what the plan's network lets expect of messages from a host to this rank's.
observe::Links::Expect expectation(const Runtime& it) {
  if (!it.has_tables() || it.hosts.empty()) return {};
  return [&it](int host) {
    const auto& numbers = it.observation.hosts;
    const auto first = std::ranges::find(numbers, host) - numbers.begin();
    const network::HostId from = it.hosts[index(first)], to = it.hosts[index(it.world_rank)];
    if (from == network::no_host || to == network::no_host) return observe::MessageTime{};
    const network::Network& network = it.plan.network;
    const network::MessageCost cost = message_cost(network, it.plan.library);
    const auto ns = [](units::Time time) { return time.value() * 1e9; };
    const units::Time latency = network.latency(from, to);
    return observe::MessageTime{
        .base_ns = ns(latency + cost.send + cost.receive),
        .ns_per_byte = 1e9 / network.bandwidth(from, to).value() + 2 * ns(cost.per_byte),
        .eager_limit = cost.eager_limit,
        .handshake_ns = ns(cost.handshake + latency + network.latency(to, from))};
  };
}

observe::Identity identity(const Runtime& it) {
  return {it.settings.run, it.world_rank, it.world_size};
}

std::string own_file(const Runtime& it, const std::string& folder, const char* ending) {
  return folder + "/rank-" + std::to_string(it.world_rank) + ending;
}

/// Returns why nothing is recorded; empty if it is.
std::string begin_record(Runtime& it) {
  const std::string& folder = it.settings.record;
  if (std::string problem = units::make_folder(folder); !problem.empty()) return problem;
  // What an earlier run left under this name isn't of this one.
  if (it.world_rank == 0) unlink((folder + "/record.bin").c_str());
  auto record = std::make_unique<RunRecord>(it.observation.hosts, it.world_size, expectation(it));
  if (std::string problem = record->file.open(own_file(it, folder, ".record"), identity(it));
      !problem.empty()) {
    record->destinations.free_keyval();
    return problem;
  }
  record->file.header().host = it.observation.hosts[index(it.world_rank)];
  it.record = std::move(record);
  return {};
}

/// Returns the variable that wants events, for notes on their files.
const char* events_variable(const Runtime& it) {
  return it.settings.trace.empty() ? "THALWEG_RECORD" : "THALWEG_TRACE";
}

std::string begin_events(Runtime& it) {
  const std::string& folder = it.settings.events_folder();
  if (std::string problem = units::make_folder(folder); !problem.empty()) return problem;
  return it.recorder.open(own_file(it, folder, ".events"), identity(it), it.settings.events);
}

observe::ClockFit own_fit(const Runtime& it) {
  observe::ClockFit fit;
  const auto& clocks = it.observation.clocks;
  for (std::size_t at = 0; at < std::min(clocks.size(), fit.at_ns.size()); ++at) {
    const ClockReading& reading = at == 0 ? clocks.first() : clocks.latest();
    fit.at_ns[at] = reading.at_ns;
    fit.offset_ns[at] = reading.offset_ns;
    fit.error_ns[at] = reading.error_ns;
  }
  return fit;
}

void set_clocks(Runtime& it) {
  const observe::ClockFit fit = own_fit(it);
  if (it.record) it.record->file.header().clock = fit;
  if (it.recorder.is_open()) it.recorder.set_clock(fit);
  it.keep_time(observe::now(), true);
}

void compare(Runtime& it) {
  Observation& own = it.observation;
  std::vector<ClockReading> readings = compare_clocks(own.hosts, it.shadow, it.clock_tag());
  own.compared = own.calls;
  own.compared_ns = readings.front().at_ns;
  own.clocks.add(std::move(readings), index(own.hosts[index(it.world_rank)]), it.world_rank == 0);
  own.clock.add(own.clocks.latest());
}

/// Returns how many times slower the lab's network is than it stands for, as a number in JSON.
std::string dilation() {
  const char* const text = std::getenv("THALWEG_LAB_DILATION");
  const auto number = parse_number(text != nullptr ? text : "");
  if (!number || !(*number >= 1 && *number <= 1e6)) return "1";
  std::array<char, 32> written{};
  const auto [last, error] =
      std::to_chars(written.data(), written.data() + written.size(), *number);
  return error == std::errc() ? std::string(written.data(), last) : "1";
}

observe::RunInfo run_info(Runtime& it) {
  observe::RunInfo info;
  info.world_rank = it.world_rank;
  info.world_size = it.world_size;
  info.library = flavour;
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  native.Get_library_version(version.data(), &length);
  info.library_version = version.data();
  info.library_version = info.library_version.substr(0, info.library_version.find('\n'));
  info.force = it.settings.force;
  if (it.reason) info.everything_native = units::name_of(*it.reason);
  info.window = it.settings.window;
  info.dilation = dilation();
  info.races = it.communicators.race_reports();
  info.more_races = it.communicators.more_races_report();
  info.changes = it.communicators.change_reports();
  if (it.helper != nullptr) info.nonblocking = &it.nonblocking_counters;
  for (const algorithms::Algorithm* algorithm : algorithms::all())
    info.algorithms.emplace_back(algorithm->name());
  return info;
}

/// Returns the host's clock, as docs/record.md has it.
std::string clock_json(const Runtime& it, std::size_t host) {
  const auto all = [&](std::int64_t ClockReading::*member) {
    return list(it.observation.clocks.all(), [&](const std::vector<ClockReading>& readings) {
      return std::to_string(readings[host].*member);
    });
  };
  return "{\"at_ns\": " + all(&ClockReading::at_ns) +
         ", \"offset_ns\": " + all(&ClockReading::offset_ns) +
         ", \"error_ns\": " + all(&ClockReading::error_ns) + "}";
}

/// Returns the content of run.json.
std::string describe(Runtime& it) {
  const observe::RunInfo info = run_info(it);
  const auto& hosts = it.observation.hosts;
  std::vector<std::string> names, clocks, collectives;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    if (index(hosts[rank]) == names.size()) {
      clocks.push_back(clock_json(it, names.size()));
      names.push_back(it.host_names[rank]);
    }
  for (std::size_t number = 0; number < observe::Counted::count; ++number)
    collectives.emplace_back(observe::Counted::of(number).name());
  const auto as_it_is = [](const std::string& text) { return text; };
  const std::string& end = it.observation.end_time;
  std::array<char, 24> run{};
  std::snprintf(run.data(), run.size(), "%016llx",
                static_cast<unsigned long long>(it.settings.run));
  return "{\n  \"schema\": 1,\n  \"run\": " + quoted(run.data()) +
         ",\n  \"version\": " + quoted(THALWEG_VERSION) +
         ",\n  \"library\": " + quoted(info.library) +
         ",\n  \"library_version\": " + quoted(info.library_version) +
         ",\n  \"command\": " + list(command()) + ",\n  \"dilation\": " + info.dilation +
         ",\n  \"ranks\": " + std::to_string(it.world_size) + ",\n  \"hosts\": " + list(names) +
         ",\n  \"placement\": " +
         list(hosts, [](std::int32_t host) { return std::to_string(host); }) +
         ",\n  \"start\": " + quoted(it.observation.begin_time) +
         ",\n  \"end\": " + (end.empty() ? "null" : quoted(end)) +
         ",\n  \"clocks\": " + list(clocks, as_it_is) +
         ",\n  \"everything_native\": " + quoted(info.everything_native) +
         ",\n  \"collectives\": " + list(collectives) +
         ",\n  \"algorithms\": " + list(info.algorithms) +
         ",\n  \"reasons\": " + list(names_of(Reason{})) + "\n}\n";
}

/// Writes what only rank 0 writes of the run record: its description, and at the start the plan.
void write_description(Runtime& it) {
  if (it.world_rank != 0 || it.settings.record.empty()) return;
  const std::string& folder = it.settings.record;
  if (it.observation.end_time.empty() && it.has_tables())
    note(it, "THALWEG_RECORD", units::write_whole(folder + "/plan.bin", it.settings.plan));
  note(it, "THALWEG_RECORD", units::write_whole(folder + "/run.json", describe(it)));
}

/// Returns whether something is so on all ranks. Collective.
bool all_of(const Runtime& it, bool own) {
  const int mine = own ? 1 : 0;
  int all = 0;
  native.Allreduce(&mine, &all, 1, native.integer, native.min, it.shadow);
  return all != 0;
}

/// Returns how many ranks from this one on send their files by way of this one: a binomial tree's.
int ranks_below(const Runtime& it) {
  int step = 1;
  while (step < it.world_size && (it.world_rank & step) == 0)
    step *= 2;
  return std::min(step, it.world_size - it.world_rank);
}

/// Gathers the files of the ranks in `all`, which has room for those of ranks_below(), the own
/// first.
void gather(const Runtime& it, std::span<const std::int64_t> sizes, std::byte* all) {
  const auto bytes = [&](int first, int last) {
    return std::accumulate(sizes.begin() + first, sizes.begin() + last, std::int64_t{0});
  };
  const int self = it.world_rank, tag = it.clock_tag();
  for (int step = 1; step < it.world_size; step *= 2) {
    if ((self & step) != 0) {
      const auto count = static_cast<int>(bytes(self, std::min(self + step, it.world_size)));
      native.Send(all, count, native.byte, self - step, tag, it.shadow);
      return;
    }
    const int child = self + step;
    if (child >= it.world_size) continue;
    const auto count = static_cast<int>(bytes(child, std::min(child + step, it.world_size)));
    MPI_Request request = native.request_null;
    native.Irecv(all + bytes(self, child), count, native.byte, child, tag, it.shadow, &request);
    native.Wait(&request, MPI_STATUS_IGNORE);
  }
}

/// Makes one file of the ranks' files: on rank 0, which gets the others' along a tree. Leaves them
/// as they are where there are too many bytes, or a rank has no memory for those that it passes on.
void merge(Runtime& it) {
  if (it.settings.record.empty() || it.world_size == 1) return;
  const std::span<const std::byte> own =
      it.record ? it.record->file.content() : std::span<const std::byte>();
  const auto size = static_cast<std::int64_t>(own.size());
  // What isn't there is agreed on, since all take part or nobody.
  const std::unique_ptr<std::int64_t[]> sizes(new (std::nothrow)
                                                  std::int64_t[index(it.world_size)]);
  if (!all_of(it, sizes != nullptr)) return;
  native.Allgather(&size, 1, native.int64, sizes.get(), 1, native.int64, it.shadow);
  const std::span<const std::int64_t> of_all(sizes.get(), index(it.world_size));
  if (std::accumulate(of_all.begin(), of_all.end(), std::int64_t{0}) > most_merged) {
    note(it, "THALWEG_RECORD",
         "the ranks' files aren't merged: together they have more than " +
             units::size_to_text(most_merged) + "; those of other machines stay there, in " +
             it.settings.record);
    return;
  }
  const auto below = of_all.subspan(index(it.world_rank), index(ranks_below(it)));
  const std::int64_t held = std::accumulate(below.begin(), below.end(), std::int64_t{0});
  const std::unique_ptr<std::byte[]> all(new (std::nothrow) std::byte[index(held)]);
  if (!all_of(it, all != nullptr)) {
    note(it, "THALWEG_RECORD", "the ranks' files aren't merged: a rank has no memory for them");
    return;
  }
  if (!own.empty()) std::memcpy(all.get(), own.data(), own.size());
  gather(it, of_all, all.get());
  std::string problem;
  if (it.world_rank == 0) {
    units::WholeFile file(it.settings.record + "/record.bin");
    file.write(all.get(), index(held));
    problem = file.finish();
    note(it, "THALWEG_RECORD", problem);
  }
  if (!all_of(it, problem.empty())) return;
  if (it.record) it.record->file.remove();
  rmdir(it.settings.record.c_str()); // does nothing but where the record is on another machine
}

/// Writes summary.json to all places where it is wanted.
void write_summary(Runtime& it) {
  const Settings& settings = it.settings;
  if (it.world_rank != 0 || (!settings.observes() && settings.summary.empty())) return;
  it.clock.calibrate();
  const std::string summary = observe::summary(run_info(it), it.counters, it.clock);
  const auto write = [&](const char* variable, const std::string& path) {
    note(it, variable, units::write_whole(path, summary));
  };
  if (!settings.trace.empty()) write("THALWEG_TRACE", settings.trace + "/summary.json");
  if (!settings.record.empty()) write("THALWEG_RECORD", settings.record + "/summary.json");
  if (!settings.summary.empty()) write("THALWEG_SUMMARY", settings.summary);
}

} // namespace

void begin_observation(Runtime& it) {
  if (!it.settings.observes()) return;
  it.observation.begin_time = utc_now();
  name_hosts(it);
  it.observation.hosts = numbers_of(it.host_names);
  compare(it);
  if (!it.settings.record.empty()) note(it, "THALWEG_RECORD", begin_record(it));
  if (!it.settings.events_folder().empty()) note(it, events_variable(it), begin_events(it));
  set_clocks(it);
  write_description(it);
}

void compare_clocks_now(Runtime& it) {
  Observation& own = it.observation;
  if (!it.settings.observes()) return;
  const auto calls = static_cast<std::int64_t>(own.calls - own.compared);
  const std::int64_t before_ns = own.compared_ns;
  compare(it);
  set_clocks(it);
  // All ranks know the same of this, since rank 0 tells it with the comparison.
  const std::int64_t call_ns = std::max<std::int64_t>((own.compared_ns - before_ns) / calls, 1);
  const std::int64_t pause_ns =
      std::max(own.pause_ns, errors_in_pause * own.clocks.largest_error_ns());
  own.next = own.calls + static_cast<std::uint64_t>(
                             std::clamp<std::int64_t>(pause_ns / call_ns, 1, most_growth * calls));
  if (own.clocks.thin_out()) own.pause_ns = std::min(2 * own.pause_ns, most_pause_ns);
}

void end_observation(Runtime& it) {
  if (it.settings.observes()) {
    compare(it);
    it.observation.end_time = utc_now();
    set_clocks(it);
    note(it, events_variable(it), it.recorder.problem());
    if (it.record) {
      it.record->file.header().finished = 1;
      note(it, "THALWEG_RECORD", it.record->file.problem());
    }
    merge(it);
    write_description(it);
  }
  write_summary(it);
}

} // namespace thalweg::runtime
