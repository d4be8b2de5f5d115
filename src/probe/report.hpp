#pragma once

#include "network/network.hpp"
#include "probe/journal.hpp"

#include <string>
#include <vector>

/// The probe's output: text on standard error for people, or JSON lines on standard output for
/// programs.
namespace thalweg::probe {

class Report {
public:
  explicit Report(bool events) : _events(events) {}

  /// Reports that this process runs on host `name`; written before MPI_Init, so that hosts whose
  /// MPI doesn't start can be told from dead ones.
  void started(const std::string& name) const;
  /// Returns the text that this process prints if a collective call doesn't end, when it can't
  /// allocate.
  [[nodiscard]] std::string waited_in_vain(const std::string& name, int rank) const;
  /// Reports that `done` of `total` steps of a phase are over. As text at most one line a second.
  void progress(const std::string& phase, std::size_t done, std::size_t total);
  /// Reports one sentence about what was found or not done.
  void note(const std::string& text) const;
  /// Reports why the probe failed; if it has other hosts than expected, what these call themselves.
  void error(const std::string& text, const std::vector<std::string>& hosts = {}) const;
  /// Reports the result of a job; for programs only, to resume from.
  void step(const Step& step) const;
  void network(const network::Network& network) const;

private:
  bool _events;
  std::int64_t _last = 0;
};

} // namespace thalweg::probe
