#include "runtime/choose/reproducible.hpp"

#include <cassert>
#include <string_view>

namespace thalweg::runtime {
namespace {

using collective::Kind;

/// The size for algorithms whose order of combination doesn't depend on segments.
constexpr units::Size segment_size = 65536;

std::string_view algorithm_for(Kind reduction) {
  switch (reduction) {
  case Kind::reduce:
  case Kind::allreduce:
    return "rabenseifner";
  case Kind::reduce_scatter:
    return "recursive-halving";
  case Kind::scan:
  case Kind::exscan:
    return "recursive-doubling-scan";
  case Kind::bcast:
  case Kind::gather:
  case Kind::allgather:
  case Kind::scatter:
  case Kind::alltoall:
  case Kind::barrier:
    break;
  }
  assert(!"not a reduction");
  return {};
}

} // namespace

Force::Directive reproducible_choice(Kind reduction, units::Size size) {
  Force::Directive choice;
  choice.what = Force::What::algorithm;
  choice.algorithm = &algorithms::find(algorithm_for(reduction));
  choice.parameters.order = algorithms::Order::rank;
  const bool by_segments = reduction == Kind::scan || reduction == Kind::exscan;
  if (by_segments && size > segment_size) choice.parameters.segment_size = segment_size;
  return choice;
}

} // namespace thalweg::runtime
