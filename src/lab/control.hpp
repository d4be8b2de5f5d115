#pragma once

#include "lab/descriptor.hpp"

#include <functional>
#include <map>
#include <string>

namespace thalweg::lab {

/// Serves the switch's control socket: one JSON object per line in, one per line out
/// (docs/scenario-file.md, "Control socket"). Until a client says that the lab is ready, the lab
/// belongs to that client and ends with its connection.
class Control {
public:
  /// @param counters returns the answer to {"command": "counters"}, a JSON object
  /// @param ready called once, at {"command": "ready"}
  /// @param advance called at {"command": "advance"}; returns whether the timeline had a change
  /// left
  Control(const std::string& path, std::function<std::string()> counters,
          std::function<void()> ready, std::function<bool()> advance);

  /// Readable when serve() has something to do.
  [[nodiscard]] int fd() const { return _epoll.get(); }
  void serve();
  [[nodiscard]] bool stopped() const { return _stopped; }

private:
  void accept_client();
  void read_client(int client);
  std::string answer(const std::string& line);

  Descriptor _listener, _epoll;
  std::map<int, std::pair<Descriptor, std::string>> _clients; ///< with their incomplete lines
  std::function<std::string()> _counters;
  std::function<void()> _on_ready;
  std::function<bool()> _advance;
  bool _ready = false, _stopped = false;
};

} // namespace thalweg::lab
