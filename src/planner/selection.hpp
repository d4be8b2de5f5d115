#pragma once

#include "collective/collective.hpp"
#include "planner/passes.hpp"

#include <span>
#include <string_view>

/// What MPI libraries take by rules of their own, which know the number of ranks and bytes and
/// nothing of the network: to compare with, and to predict native where it can't be measured.
namespace thalweg::planner {

/// "mpich" (today's), "mpich-1.4" (MPICH2 1.4, which CMPI compares with) and "openmpi-4.1".
std::span<const std::string_view> selections();

/// Bytes of an element: the libraries' rules count elements too, which a collective doesn't know.
inline constexpr Size element = 8;

/// The library's choice, always in Order::rank. Operations commute and are built in, and
/// there is one rank per host. What the library composes from other collectives
/// (reduce and bcast, reduce and scatter) is the tree that does both.
/// @throws std::invalid_argument if `name` is no selection, listing those there are
Choice select(std::string_view name, const collective::Collective& collective);

/// select() for Open MPI, whose rules are tables.
Choice select_openmpi(const collective::Collective& collective);

} // namespace thalweg::planner
