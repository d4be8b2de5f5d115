#pragma once

#include "runtime/observe/counters.hpp"
#include "runtime/observe/recorder.hpp"

#include <string>
#include <vector>

namespace thalweg::runtime::observe {

/// The summary's description of a run, besides its calls.
struct RunInfo {
  int world_rank = 0, world_size = 1;
  std::string library;           ///< "openmpi", "mpich"
  std::string library_version;   ///< first line of MPI_Get_library_version
  std::string force;             ///< THALWEG_FORCE
  std::string everything_native; ///< the reason, or empty
  int window = 0;
  const Counters* nonblocking = nullptr; ///< of nonblocking calls; null: none is planned
  std::vector<std::string> algorithms;   ///< names: CallEvent::algorithm counts them from 1
};

/// Returns the content of summary.json.
std::string summary(const RunInfo& info, const Counters& counters, const Calibration& clock);

/// Writes the files that THALWEG_TRACE asks for into `folder`, which is made if necessary:
/// rank-<r>.events and, on world rank 0, summary.json. Returns nothing, or what went wrong.
[[nodiscard]] std::string write_trace(const std::string& folder, const RunInfo& info,
                                      Recorder& recorder, const Counters& counters);

} // namespace thalweg::runtime::observe
