#include "runtime/setup/agreement.hpp"

#include "runtime/mpi/waiting.hpp"

namespace thalweg::runtime {
namespace {

constexpr const char* field_names[AgreementRecord::fields] = {
    "the library's build",
    "THALWEG=off",
    "the thread level given to MPI_Init_thread",
    "whether a device library (CUDA, ROCm, Level Zero) is loaded",
    "how the MPI library packs data",
    "whether the MPI library goes on when ranks die"};

} // namespace

Agreement agree(const AgreementRecord& mine, MPI_Comm comm, double seconds) {
  // Ranks may have libraries of two builds, and notice it by the field for that: so all builds
  // reduce as many words, and have the build and its complement in the same ones. Unused ones are
  // 0 in both halves.
  constexpr std::size_t words = 32, complements = words / 2;
  constexpr auto fields = static_cast<std::size_t>(AgreementRecord::fields);
  constexpr std::size_t plan = fields, in_place = plan + 1, largest_tag = in_place + 1;
  static_assert(AgreementRecord::build == 0 && largest_tag < complements);
  // The minimum of the complement gives the maximum. Static: still in use if the time is over.
  static std::array<std::uint64_t, words> in{}, least{};
  for (std::size_t i = 0; i < fields; ++i) {
    in[i] = mine.values[i];
    in[complements + i] = ~mine.values[i];
  }
  in[plan] = mine.plan;
  in[complements + plan] = ~mine.plan;
  in[in_place] = mine.is_in_place ? 1 : 0;
  in[largest_tag] = mine.largest_tag;
  MPI_Request request = native.request_null;
  Agreement result;
  if (native.Iallreduce(in.data(), least.data(), static_cast<int>(in.size()), native.uint64,
                        native.min, comm, &request) != MPI_SUCCESS ||
      !await(request, MPI_STATUS_IGNORE, end_ns_after(seconds))) {
    result.somebody_is_missing = true;
    return result;
  }
  result.largest_tag = least[largest_tag];
  result.have_plan = least[plan] != 0 && least[plan] == ~least[complements + plan];
  result.are_in_place = least[in_place] != 0;
  for (std::size_t i = 0; i < fields; ++i) {
    if (least[i] == ~least[complements + i]) continue;
    if (!result.difference.empty()) result.difference += ", ";
    result.difference += field_names[i];
  }
  if (!result.difference.empty())
    result.reason = Reason::disagreement;
  else if (mine.values[AgreementRecord::off] != 0)
    result.reason = Reason::off;
  else if (mine.values[AgreementRecord::tolerates_faults] != 0)
    result.reason = Reason::fault_tolerance;
  else if (mine.values[AgreementRecord::device] != 0)
    result.reason = Reason::device;
  else if (mine.values[AgreementRecord::packs_exactly] == 0)
    result.reason = Reason::datatype;
  return result;
}

} // namespace thalweg::runtime
