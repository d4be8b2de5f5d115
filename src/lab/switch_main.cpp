// The lab's switch: makes the hosts of a scenario and carries their frames. Started by `thalweg lab
// up`.

#include "lab/calibrate.hpp"
#include "lab/clock.hpp"
#include "lab/control.hpp"
#include "lab/cores.hpp"
#include "lab/counters.hpp"
#include "lab/fabric.hpp"
#include "lab/forwarder.hpp"
#include "lab/host.hpp"
#include "lab/host_changes.hpp"
#include "lab/report.hpp"
#include "lab/rotation.hpp"
#include "lab/scenario.hpp"
#include "units/whole_file.hpp"

#include <cmath>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace thalweg::lab;
using thalweg::network::HostId;
using thalweg::units::Time;

constexpr int priority = 50;
constexpr std::string_view usage =
    "usage: thalweg-switch --scenario FILE [--dilation D] (--check | --state DIR --lock FD)\n";

struct SwitchOptions {
  std::string scenario, state;
  std::optional<double> dilation;
  int lock = -1; ///< a descriptor
  bool only_check = false;
};

SwitchOptions parse(const std::vector<std::string>& arguments) {
  SwitchOptions options;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const auto& name = arguments[index];
    if (name == "--check") {
      options.only_check = true;
      continue;
    }
    if (index + 1 == arguments.size()) throw std::invalid_argument(name + " needs a value");
    const auto& value = arguments[++index];
    if (name == "--scenario")
      options.scenario = value;
    else if (name == "--state")
      options.state = value;
    else if (name == "--lock")
      options.lock = std::stoi(value);
    else if (name == "--dilation")
      options.dilation = std::stod(value);
    else
      throw std::invalid_argument("unknown option " + name);
  }
  const bool can_run = !options.state.empty() && options.lock >= 0;
  if (options.scenario.empty() || (!can_run && !options.only_check))
    throw std::invalid_argument(std::string(usage));
  return options;
}

/// Takes over the lock that `thalweg lab up` has taken and written the lab's name into: it is held
/// while the lab lives; the kernel releases it however the switch ends.
Descriptor take_over_lock(int descriptor) {
  Descriptor lock(descriptor);
  check(fcntl(lock.get(), F_SETFD, FD_CLOEXEC), "--lock");
  const auto text = std::to_string(getpid()) + "\n";
  write_all(lock.get(), text.data(), text.size());
  return lock;
}

std::string random_uuid() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/uuid"), text);
  return text;
}

void write_file(const std::string& path, const std::string& content) {
  const std::string problem = thalweg::units::write_whole(path, content);
  if (!problem.empty()) throw std::runtime_error(problem);
}

std::vector<HostProcess> start_hosts(const Scenario& scenario, const SwitchOptions& options,
                                     const std::vector<int>& cores) {
  std::vector<HostProcess> hosts;
  for (HostId id = 0; id < scenario.network.size(); ++id) {
    const auto& name = scenario.network.hosts[static_cast<std::size_t>(id)].name;
    const auto folder = options.state + "/hosts/" + name;
    mkdir((options.state + "/hosts").c_str(), 0755);
    mkdir(folder.c_str(), 0755);
    write_file(folder + "/hostname", name + "\n");
    write_file(folder + "/boot_id", random_uuid() + "\n");
    hosts.push_back(start_host({name, id, options.state, cores}));
  }
  return hosts;
}

/// Rejects a latency below the switch's own, which cannot be imposed.
/// @param where says which latency it is
void require_slower_than(Time own, Time latency, double dilation, const std::string& where) {
  if (latency.value() * dilation >= own.value()) return;
  const double needed = std::floor(own.value() / latency.value()) + 1;
  throw std::runtime_error(
      where + ", " + thalweg::units::to_text(latency) +
      ", is below what the switch itself takes, " + thalweg::units::to_text(own) + ": " +
      (needed <= largest_dilation
           ? "a dilation of at least " + std::to_string(static_cast<int>(needed))
           : "a latency of at least " + thalweg::units::to_text(Time(own / dilation))) +
      " is needed");
}

/// Rejects latencies below the switch's own, also those of the timeline.
void require_slower_than(OwnCost cost, const Scenario& scenario) {
  const auto& network = scenario.network;
  const Time own(static_cast<double>(cost.asleep + cost.write) * 1e-9);
  for (HostId from = 0; from < network.size(); ++from)
    for (HostId to = 0; to < network.size(); ++to)
      if (from != to)
        require_slower_than(own, network.latency(from, to), scenario.dilation,
                            "the latency from " +
                                network.hosts[static_cast<std::size_t>(from)].name + " to " +
                                network.hosts[static_cast<std::size_t>(to)].name);
  for (const auto& change : scenario.timeline)
    if (change.latency)
      require_slower_than(own, *change.latency, scenario.dilation,
                          "the latency from " + thalweg::units::to_text(change.at) +
                              " on in the timeline");
}

void run(const SwitchOptions& options) {
  auto scenario = read_scenario(options.scenario);
  scenario.dilation = options.dilation.value_or(scenario.dilation);
  if (options.only_check) {
    std::cout << describe(scenario) << '\n';
    return;
  }
  const auto lock = take_over_lock(options.lock);
  const auto cores = usable_cores();
  const auto hosts = start_hosts(scenario, options, {cores.begin() + 1, cores.end()});
  become_real_time(cores[0], priority);
  check(mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
  const auto cost = calibrate(cores[1]);
  require_slower_than(cost, scenario);
  Fabric fabric(dilated(scenario));
  Counters counters(hosts.size());
  HostChanges changes(read_host_changes(options.state + "/changes.json"), options.state, cores[1]);
  Control control(options.state + "/control",
                  {.counters = [&] { return report(counters, fabric, scenario, hosts, cost); },
                   .ready =
                       [&] {
                         const auto origin = now();
                         fabric.start(origin);
                         changes.start(origin);
                       },
                   .advance =
                       [&] {
                         const auto origin = fabric.advance(now());
                         if (origin) changes.start(*origin);
                         return origin.has_value();
                       },
                   .settled = [&] { return changes.settled(); }});
  Rotation rotation({cores.begin() + 1, cores.end()});
  Forwarder(fabric, hosts, control, counters, rotation, cost).run();
}

} // namespace

int main(int argc, char** argv) {
  try {
    std::signal(SIGPIPE, SIG_IGN);
    run(parse({argv + 1, argv + argc}));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
