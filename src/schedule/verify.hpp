#pragma once

#include "schedule/schedule.hpp"

namespace thalweg::schedule {

/// Checks the form only, the first of verify()'s checks. O(transfers and ranges).
/// @throws std::invalid_argument as verify()
void check_form(const Collective& collective, const Schedule& schedule);

/// Replays one segment step by step and checks that it turns the collective's precondition into its
/// postcondition. Pipelining needs no check: segments touch disjoint chunks.
///
/// A *place* is a chunk's slot in a register of a rank: collective.slot() in register 0, so that
/// what an in-place alltoall overwrites is gone, and the chunk itself in the others. Checked are:
/// - the form: ranks, chunks and steps in range, no empty message, no local transfer within one
///   register, transfers ascending by (step, from, to); the number of chunks a multiple of
///   collective.blocks(); weights, if any, for the parts of a block;
/// - every read finds the very chunk it names, as it was before the step;
/// - a place takes at most one copy, or any number of combines, per step;
/// - a combine finds something to combine with, no contribution is combined twice, and the operands
///   are in ascending order of their lowest contributing ranks. In a barrier contributions are
///   united: there, order doesn't matter and a contribution may arrive again;
/// - no transfer is redundant: a copy may not bring what is there already. Exempt are messages into
///   register 0 from a rank that hasn't copied it there before, since the van de Geijn broadcast of
///   MPI libraries sends ranks chunks that they have from its scatter, which is wasteful but
///   correct. In a barrier of up to 64 ranks each combine must bring a new contribution;
/// - no transfer is useless: what it writes is read later (a combine reads what is present), or
///   belongs to the result;
/// - at the end every rank has in register 0 every chunk it must have, with exactly the
///   contributions it must have; and for allreduce all ranks hold the same expression, which proves
///   the same bits.
///
/// Contributions are exact sets up to 64 ranks, and sums of 64-bit weights above (from a fixed
/// seed; wrong with probability below 2^-40); a barrier of more ranks is replayed for 64
/// contributions at a time. Each replay costs O(chunks moved + ranks * chunks).
/// @throws std::invalid_argument naming the first transfer at fault, or the rank and the chunk it
/// lacks
void verify(const Collective& collective, const Schedule& schedule);

} // namespace thalweg::schedule
