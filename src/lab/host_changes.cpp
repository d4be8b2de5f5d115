#include "lab/host_changes.hpp"

#include "lab/clock.hpp"
#include "lab/cores.hpp"
#include "lab/descriptor.hpp"
#include "lab/spawn.hpp"
#include "network/parse.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <utility>

namespace thalweg::lab {
namespace {

void complain(const HostChange& change, const std::exception& error) {
  std::cerr << "thalweg-switch: host " << change.host
            << " did not change its rate: " << error.what() << std::endl;
}

/// Starts a command in a host. Returns the connection that tells how it ended.
Descriptor start(const std::string& state, const HostChange& change) {
  const Descriptor nowhere(check(open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null"));
  auto connection = connect_to(socket_of_host(state, change.host));
  send_request(connection.get(), {"/", change.arguments, {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}},
               {nowhere.get(), nowhere.get(), nowhere.get()});
  return connection;
}

/// Runs commands at once, each in another host, and waits for their ends.
void run_together(const std::string& state, std::span<const HostChange> changes) {
  std::vector<std::pair<const HostChange*, Descriptor>> started;
  for (const auto& change : changes) {
    try {
      started.emplace_back(&change, start(state, change));
    } catch (const std::exception& error) {
      complain(change, error);
    }
  }
  for (const auto& [change, connection] : started) {
    try {
      int status = 0;
      read_all(connection.get(), &status, sizeof status);
      if (exit_status(status) != 0) throw std::runtime_error("the command failed");
    } catch (const std::exception& error) {
      complain(*change, error);
    }
  }
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
  for (auto first = _changes.begin(); first != _changes.end();) {
    if (!wait_until(first->at)) return;
    const auto last = std::find_if(
        first, _changes.end(), [&](const HostChange& change) { return change.at != first->at; });
    run_together(_state, {first, last});
    const std::lock_guard lock(_mutex);
    _done += last - first;
    first = last;
  }
}

bool HostChanges::settled() {
  const std::lock_guard lock(_mutex);
  return !_origin || std::ranges::all_of(
                         _changes.begin() + _done, _changes.end(),
                         [&](const HostChange& change) { return *_origin + change.at > now(); });
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
