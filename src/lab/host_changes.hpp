#pragma once

#include "lab/fabric.hpp"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace thalweg::lab {

/// A command that a host runs at a time, to change the limits of its own interface.
struct HostChange {
  Instant at = 0; ///< since the start
  std::string host;
  std::vector<std::string> arguments;
};

/// Reads a list of {"at": seconds, "host": name, "arguments": [...]}, ascending in `at`.
std::vector<HostChange> read_host_changes(const std::string& path);

/// Makes the hosts run their changes in time, those of one instant at once, from a separate thread
/// that isn't on the switch's core.
class HostChanges {
public:
  /// @param state the lab's folder @param core where the thread runs
  HostChanges(std::vector<HostChange> changes, std::string state, int core);
  ~HostChanges();
  HostChanges(const HostChanges&) = delete;
  HostChanges& operator=(const HostChanges&) = delete;

  /// Sets the zero of the changes' times, also anew.
  void start(Instant origin);
  /// Returns whether the hosts have run all that was due until now.
  [[nodiscard]] bool settled();

private:
  void run(int core);
  bool wait_until(Instant at);

  std::vector<HostChange> _changes;
  std::string _state;
  std::mutex _mutex;
  std::condition_variable _changed;
  bool _stopped = false;
  std::ptrdiff_t _done = 0; ///< changes that have been run
  std::optional<Instant> _origin;
  std::thread _thread;
};

} // namespace thalweg::lab
