#pragma once

#include "probe/flows.hpp"
#include "units/units.hpp"

#include <span>
#include <string>
#include <vector>

namespace thalweg::probe {

/// The command line of thalweg-probe.
struct ProbeOptions {
  /// In the network's own time: dilated in a dilated lab. If the user sets none, the MPI library's
  /// collectives end much earlier (usual_time(), outline.hpp).
  units::Time budget{60};
  bool budget_is_set = false;
  units::Time patience{20};       ///< how long a host may stay silent, on the wall clock
  double dilation = 1;            ///< the network is this much slower than the file should say
  std::string output;             ///< the network file; empty: standard output, as an event
  std::vector<std::string> hosts; ///< the user's names of the first hosts, by rank; may be empty
  bool events = false;      ///< JSON lines on standard output instead of text on standard error
  std::string resume;       ///< the journal of an interrupted probe, as rank 0 sees it
  bool one_machine = false; ///< allow ranks that share a host, for tests: each becomes a host
  std::string base;         ///< a network file: only add this MPI library's costs and native times
  /// Of `base`, measure latency and bandwidth of these pairs only; ranks in its order.
  std::vector<Flow> pairs;
};

inline constexpr const char* usage =
    "usage: mpirun -n HOSTS thalweg-probe [--budget 60s] [--patience 20s] [--dilation 1]\n"
    "         [--output net.json] [--base net.json] [--hosts a,b,...] [--events] [--resume "
    "JOURNAL]\n"
    "         [--one-machine] [--pairs 0-1,5-2,...]\n"
    "Measures the network between the hosts of its ranks; run it with one rank per host.\n";

/// @param dilation the default, from THALWEG_LAB_DILATION; may be null
/// @throws std::invalid_argument naming the argument
ProbeOptions parse(std::span<const char* const> arguments, const char* dilation);

} // namespace thalweg::probe
