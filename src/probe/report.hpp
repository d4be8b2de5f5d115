#pragma once

#include "network/network.hpp"
#include "probe/journal.hpp"

#include <string>

/// What the probe tells people, on standard error, or programs, as JSON lines on standard output.
namespace thalweg::probe {

class Report {
public:
  explicit Report(bool events) : _events(events) {}

  /// This process runs on host `name`; written before MPI_Init, so that hosts whose MPI doesn't
  /// start can be told from those that are dead.
  void started(const std::string& name) const;
  /// What this process will say, if a collective call doesn't end; it can't allocate then.
  [[nodiscard]] std::string waited_in_vain(const std::string& name, int rank) const;
  /// `done` of `total` steps of a phase are over. Text: at most one line a second.
  void progress(const std::string& phase, std::size_t done, std::size_t total);
  /// One sentence about what was found or not done.
  void note(const std::string& text) const;
  void error(const std::string& text) const;
  /// What came of a job; for programs only, to resume from.
  void step(const Step& step) const;
  void network(const network::Network& network) const;

private:
  bool _events;
  std::int64_t _last = 0;
};

} // namespace thalweg::probe
