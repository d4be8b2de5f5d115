#pragma once

#include "collective/collective.hpp"
#include "planner/judge.hpp"

#include <span>
#include <string_view>

/// The choices of MPI libraries by their own rules, which know the number of ranks and bytes and
/// nothing of the network: for comparison, and to predict native where it can't be measured.
namespace thalweg::planner {

/// Returns "mpich" (today's), "mpich-1.4" (MPICH2 1.4, with which CMPI compares) and "openmpi-4.1".
std::span<const std::string_view> selections();

/// Bytes of an element: the libraries' rules count elements too, which a collective doesn't know.
inline constexpr Size element = 8;

/// Returns the library's choice, always in Order::rank. Operations commute and are built in, and
/// there is one rank per host. A composition of other collectives (reduce and bcast, reduce and
/// scatter) is the tree that does both; native_algorithms() has the two phases of Open MPI's.
/// @throws std::invalid_argument if `name` is no selection, listing the known ones
Choice select(std::string_view name, const collective::Collective& collective);

/// Does the same for Open MPI, whose rules are tables.
Choice select_openmpi(const collective::Collective& collective);

} // namespace thalweg::planner
