#pragma once

#include "lab/descriptor.hpp"

#include <functional>
#include <map>
#include <string>

namespace thalweg::lab {

/// Serves the switch's control socket: one JSON object per line in, one per line out
/// (docs/scenario-file.md, "Control socket"). A client that brings the lab up owns it until the lab
/// is ready: if its connection ends before, so does the lab.
class Control {
public:
  /// What is called at a command.
  struct Answers {
    std::function<std::string()> counters; ///< returns the answer, a JSON object
    std::function<void()> ready;           ///< called once
    std::function<bool()> advance;         ///< returns whether the timeline had a change left
    std::function<bool()> settled;         ///< returns whether the hosts have made all changes
  };
  Control(const std::string& path, Answers answers);

  /// Readable when serve() has something to do.
  [[nodiscard]] int fd() const { return _epoll.get(); }
  void serve();
  [[nodiscard]] bool stopped() const { return _stopped; }

private:
  void accept_client();
  void read_client(int client);
  std::string answer(const std::string& line, int client);

  Descriptor _listener, _epoll;
  std::map<int, std::pair<Descriptor, std::string>> _clients; ///< with their incomplete lines
  Answers _answers;
  int _owner = -1; ///< the client that brings the lab up
  bool _ready = false, _stopped = false;
};

} // namespace thalweg::lab
