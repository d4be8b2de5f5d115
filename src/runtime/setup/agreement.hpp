#pragma once

#include "runtime/mpi/native.hpp"
#include "runtime/observe/reason.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace thalweg::runtime {

/// What a rank tells the others: values that must be equal on all ranks before anything may be
/// planned, and others that need not be.
struct AgreementRecord {
  enum Field : std::uint8_t { build, off, thread_level, device, packs_exactly, tolerates_faults };
  static constexpr int fields = 6;
  std::array<std::uint64_t, fields> values{};
  std::uint64_t largest_tag = 0;
  std::uint64_t plan = 0;   ///< tells the plan file that the rank has read from others; 0: none
  bool is_in_place = false; ///< whether the rank is on the host where that plan has it
};

/// The ranks' result.
struct Agreement {
  std::optional<Reason> reason;     ///< why everything is native, if it is
  bool somebody_is_missing = false; ///< then no rank knows the others' records
  std::string difference;           ///< in words; empty if nothing differs
  std::uint64_t largest_tag = 0;    ///< that all ranks may use
  bool have_plan = false;           ///< all ranks have read the same plan file
  bool are_in_place = false;        ///< all ranks are where their plan file has them
};

/// Compares the records of all ranks by one native reduction, which is as long in all builds of
/// this library. Collective; all who get an answer get the same.
///
/// A rank without this library doesn't call this, and must not be waited for indefinitely: somebody
/// is missing if it takes longer than `seconds`. Then the reduction stays open. As ranks begin to
/// wait at different times, some may still get an answer when others have given up, so what follows
/// must be something that all take part in, and that may fail as well.
Agreement agree(const AgreementRecord& mine, MPI_Comm comm, double seconds);

} // namespace thalweg::runtime
