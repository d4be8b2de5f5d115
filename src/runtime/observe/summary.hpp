#pragma once

#include "runtime/observe/counters.hpp"

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
  std::string dilation = "1";            ///< of the lab's network, as a number in JSON
  const Counters* nonblocking = nullptr; ///< of nonblocking calls; null: none is planned
  std::vector<std::string> races;        ///< each as JSON
  std::string more_races;              ///< numbers of further ones, as JSON; empty: there are none
  std::vector<std::string> changes;    ///< of plans that followed the network: each as JSON
  std::vector<std::string> algorithms; ///< names: CallEvent::algorithm counts them from 1
};

/// Returns the content of summary.json.
std::string summary(const RunInfo& info, const Counters& counters, const Calibration& clock);

} // namespace thalweg::runtime::observe
