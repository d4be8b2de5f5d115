#include "lab/host_changes.hpp"

#include "lab/clock.hpp"
#include "lab/cores.hpp"
#include "lab/descriptor.hpp"
#include "lab/spawn.hpp"
#include "network/parse.hpp"

#include <chrono>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <iostream>

namespace thalweg::lab {
namespace {

/// Runs a command in a host and waits for its end.
void run_silently(const std::string& state, const HostChange& change) {
  const Descriptor nowhere(check(open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null"));
  const auto connection = connect_to(socket_of_host(state, change.host));
  send_request(connection.get(), {"/", change.arguments, {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}},
               {nowhere.get(), nowhere.get(), nowhere.get()});
  int status = 0;
  read_all(connection.get(), &status, sizeof status);
  if (exit_status(status) != 0) throw std::runtime_error("the command failed");
}

} // namespace

std::vector<HostChange> read_host_changes(const std::string& path) {
  std::vector<HostChange> result;
  std::ifstream file(path);
  for (const auto& each : network::parse_json(file))
    result.push_back({to_instant(Time(each.at("at").get<double>())), each.at("host"),
                      each.at("arguments").get<std::vector<std::string>>()});
  return result;
}

HostChanges::HostChanges(std::vector<HostChange> changes, std::string state, int core)
    : _changes(std::move(changes)), _state(std::move(state)), _thread([this, core] { run(core); }) {
}

HostChanges::~HostChanges() {
  {
    const std::lock_guard lock(_mutex);
    _stopped = true;
  }
  _changed.notify_all();
  _thread.join();
}

void HostChanges::start(Instant origin) {
  {
    const std::lock_guard lock(_mutex);
    _origin = origin;
  }
  _changed.notify_all();
}

void HostChanges::run(int core) {
  become_ordinary(core);
  for (const auto& change : _changes) {
    if (!wait_until(change.at)) return;
    try {
      run_silently(_state, change);
    } catch (const std::exception& error) {
      std::cerr << "thalweg-switch: host " << change.host
                << " did not change its rate: " << error.what() << std::endl;
    }
  }
}

bool HostChanges::wait_until(Instant at) {
  std::unique_lock lock(_mutex);
  while (!_stopped && (!_origin || *_origin + at > now())) {
    if (_origin)
      _changed.wait_for(lock, std::chrono::nanoseconds(*_origin + at - now()));
    else
      _changed.wait(lock);
  }
  return !_stopped;
}

} // namespace thalweg::lab
