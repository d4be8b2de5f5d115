#pragma once

#include <string>
#include <string_view>

namespace thalweg::bench {

/// The switch's control socket (docs/scenario-file.md), in the folder THALWEG_LAB_STATE: one JSON
/// request a line, one JSON answer a line. Outside a lab there is none.
class LabControl {
public:
  /// @throws std::runtime_error naming the socket if the variable is set but nothing answers
  LabControl();
  ~LabControl();
  LabControl(const LabControl&) = delete;
  LabControl& operator=(const LabControl&) = delete;

  /// The switch's counters as JSON text, or "null" outside a lab.
  /// @throws std::runtime_error if the switch has gone
  std::string counters();
  /// Brings about the next change of the lab's timeline.
  /// @throws std::runtime_error outside a lab, or if there is none
  void advance();

private:
  std::string ask(std::string_view request);

  int _socket = -1;
};

} // namespace thalweg::bench
