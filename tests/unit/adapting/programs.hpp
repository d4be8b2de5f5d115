#pragma once

#include "adapting/world.hpp"
#include "runtime/adapt/causes.hpp"

/// The network and the programs that most tests of adapting have in common.
namespace thalweg::test {

/// What a third of the calls take on the calm network.
inline constexpr double phase_s = 60;

/// The lab's three-sites: 3, 5 and 8 hosts at 100 Mbit/s; every link between two sites has its own
/// latency and trunk.
Network three_sites();

inline const collective::Collective bcast{
    .kind = collective::Kind::bcast, .ranks = 16, .root = 0, .size = 65536};
inline const collective::Collective gather{
    .kind = collective::Kind::gather, .ranks = 16, .root = 0, .size = 4096};
inline const collective::Collective sum{
    .kind = collective::Kind::allreduce, .ranks = 16, .root = 0, .size = 65536};

/// Returns the cause that makes everything on this port, or from this trunk or site, ten times
/// slower.
runtime::Cause ten_times(runtime::Cause::What what, std::int32_t from);

/// Returns the story of a program that calls these shapes in turn, on a network that stays.
Story story_of(const Network& net, const Shapes& shapes, std::uint64_t seed);

/// Returns how many calls take about so long on the calm network.
std::size_t calls_in(double seconds, Story story, const Plans& plans);

} // namespace thalweg::test
