#pragma once

#include "planner/selection.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace thalweg::planner {

/// Which of a collective's ranks take part in a phase.
enum class Level : std::uint8_t {
  all,           ///< all ranks
  within_hosts,  ///< the ranks of each host among themselves
  between_hosts, ///< the leaders: one rank of each host, the root on its own
};

/// A part of what a library does: a collective among some of the ranks.
struct Phase {
  Level level = Level::all;
  collective::Collective collective;
  network::Placement placement; ///< of its ranks; within hosts, those of the fullest host
  Choice choice;
  std::string name; ///< what the library calls the algorithm, where it isn't the choice's name
};

/// How an MPI library does a collective: one phase after the other.
struct NativeAlgorithm {
  std::string library; ///< whose rules: "mpich", "openmpi-4.1", ...
  std::vector<Phase> phases;
};

/// "mpich: scatter-allgather", "mpich: binomial between hosts, binomial within hosts".
std::string to_text(const NativeAlgorithm& algorithm);

/// What the rules of `library` choose for the problem, one for each release that it may be.
/// "mpich", "mpich-1.4", "openmpi-4.1" and "openmpi-5.0" name rules; another name that begins with
/// "mpich" means the first, one that begins with "openmpi" the last two unless it names the major
/// version; any other (Intel MPI, none) means all of today. Where hosts have several ranks MPICH
/// (2 and later) and Open MPI 5 do some collectives between the hosts' leaders and within the
/// hosts. Operations commute and are built in.
std::vector<NativeAlgorithm> native_algorithms(const Problem& problem, std::string_view library);

/// What the first of these rules choose for all ranks, whatever hosts these share; several phases
/// as select() has them.
Choice native_choice(const Problem& problem, std::string_view library);

} // namespace thalweg::planner
