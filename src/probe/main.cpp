#include "network/file.hpp"
#include "probe/measurement.hpp"
#include "probe/roll_call.hpp"
#include "probe/watchdog.hpp"
#include "probe/worker.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mpi.h>
#include <string_view>
#include <sys/prctl.h>

namespace {

using namespace thalweg;
using namespace thalweg::probe;

constexpr int give_up = 1;
constexpr unsigned finalize_seconds = 10;
/// MPICH 4.0 over UCX's TCP hangs in MPI_Finalize if a rank leaves before its peers'
/// acknowledgements. Open MPI's ranks wait for each other there.
constexpr Nanoseconds farewell = std::string_view(THALWEG_LIBRARY) == "mpich" ? 200'000'000 : 0;
constexpr Nanoseconds last_words = 300'000'000;

/// Ranks that are started first wait for the others; python/thalweg/probe.py has the same.
constexpr double startup_seconds_of_host = 0.05;

/// Returns seconds on the wall clock that even a slow network's measurement doesn't take.
unsigned longest(const ProbeOptions& options) {
  return static_cast<unsigned>(3 * options.dilation * options.budget.value() +
                               5 * options.patience.value() + 30 +
                               startup_seconds_of_host * static_cast<double>(options.hosts.size()));
}

void save(const Network& network, const ProbeOptions& options, const Report& report) {
  network::validate(network);
  if (options.output.empty())
    report.network(network);
  else
    network::write(network, options.output);
}

Journal read_journal(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error(path + " can't be read on the first host; probe without --resume");
  return Journal(file);
}

void coordinate(const Channel& channel, const Identity& self, const ProbeOptions& options,
                Report& report) {
  const auto identities = roll_call(channel, self, options);
  report.progress("hosts", identities.size(), identities.size());
  const bool shared = share_clock(identities);
  Coordinator coordinator(channel, options, report,
                          host_names(identities, options.hosts, options.one_machine),
                          options.resume.empty() ? Journal() : read_journal(options.resume));
  Network network = options.base.empty() ? measure(coordinator, shared)
                    : options.pairs.empty()
                        ? add_library(coordinator, shared, network::read(options.base))
                        : measure_pairs(coordinator, shared, network::read(options.base));
  if (options.base.empty()) network.initial_window = smallest_window(identities);
  save(network, options, report);
  coordinator.dismiss();
}

void take_part(const ProbeOptions& options, Report& report) {
  const auto self = identify();
  report.started(self.name);
  MPI_Init(nullptr, nullptr);
  const Channel channel(MPI_COMM_WORLD, static_cast<Nanoseconds>(options.patience.value() * 1e9));
  watchdog::set_complaint(report.waited_in_vain(self.name, channel.rank()), options.events);
  try {
    if (channel.rank() == 0) {
      coordinate(channel, self, options, report);
    } else {
      announce(channel, self);
      serve(channel);
    }
  } catch (const std::exception& error) {
    const auto* const other = dynamic_cast<const OtherHosts*>(&error);
    report.error(error.what(), other != nullptr ? other->names : std::vector<std::string>{});
    // Launchers may end before they have passed on the last output.
    sleep_until(now() + last_words);
    MPI_Abort(MPI_COMM_WORLD, give_up);
  }
  watchdog::finishing(finalize_seconds);
  channel.linger(farewell);
  MPI_Finalize();
}

} // namespace

int main(int count, char** arguments) {
  try {
    const auto options = parse({arguments + 1, static_cast<std::size_t>(count - 1)},
                               std::getenv("THALWEG_LAB_DILATION"));
    // Lets sleeps between polls end on time, not up to 50 us later.
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    watchdog::start(longest(options));
    Report report(options.events);
    take_part(options, report);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thalweg-probe: %s\n", error.what());
    return 2;
  }
}
