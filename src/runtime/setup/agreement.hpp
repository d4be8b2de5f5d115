#pragma once

#include "runtime/mpi/native.hpp"
#include "runtime/observe/reason.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace thalweg::runtime {

/// The values that must be equal on all ranks before anything may be planned.
struct AgreementRecord {
  enum Field : std::uint8_t { build, off, thread_level, device, packs_exactly };
  static constexpr int fields = 5;
  std::array<std::uint64_t, fields> values{};
  std::uint64_t largest_tag = 0; ///< need not be equal
};

/// The ranks' result.
struct Agreement {
  std::optional<Reason> reason;  ///< why everything is native, if it is
  std::string difference;        ///< in words; empty if nothing differs
  std::uint64_t largest_tag = 0; ///< that all ranks may use
};

/// Whether all ranks of `comm` call this within the time limit. A rank without this library won't,
/// and must not be waited for indefinitely. Leaves a nonblocking barrier open if not.
bool all_present(MPI_Comm comm, double seconds);

/// Compares the records of all ranks by one native reduction. Collective; all get the same answer.
/// If a rank is still missing after `seconds`, the answer is disagreement.
Agreement agree(const AgreementRecord& mine, MPI_Comm comm, double seconds);

} // namespace thalweg::runtime
