#include "runtime/setup/agreement.hpp"

#include "runtime/mpi/waiting.hpp"
#include "runtime/observe/clock.hpp"

namespace thalweg::runtime {
namespace {

bool wait_for(MPI_Request& request, double seconds) {
  const std::int64_t end = observe::monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
  return await(request, MPI_STATUS_IGNORE, end);
}

constexpr const char* field_names[AgreementRecord::fields] = {
    "the library's build", "THALWEG=off", "the thread level given to MPI_Init_thread",
    "whether a device library (CUDA, ROCm, Level Zero) is loaded",
    "how the MPI library packs data"};

} // namespace

bool all_present(MPI_Comm comm, double seconds) {
  MPI_Request request = native.request_null;
  return native.Ibarrier(comm, &request) == MPI_SUCCESS && wait_for(request, seconds);
}

Agreement agree(const AgreementRecord& mine, MPI_Comm comm, double seconds) {
  constexpr auto fields = static_cast<std::size_t>(AgreementRecord::fields);
  // The minimum of the complement gives the maximum. Static: still in use if the time is over.
  static std::array<std::uint64_t, 2 * fields + 1> in, least;
  for (std::size_t i = 0; i < fields; ++i) {
    in[i] = mine.values[i];
    in[fields + i] = ~mine.values[i];
  }
  in.back() = mine.largest_tag;
  MPI_Request request = native.request_null;
  Agreement result;
  if (native.Iallreduce(in.data(), least.data(), static_cast<int>(in.size()), native.uint64,
                        native.min, comm, &request) != MPI_SUCCESS ||
      !wait_for(request, seconds)) {
    result.reason = Reason::disagreement;
    result.difference = "whether this library is loaded";
    return result;
  }
  result.largest_tag = least.back();
  for (std::size_t i = 0; i < fields; ++i) {
    if (least[i] == ~least[fields + i]) continue;
    if (!result.difference.empty()) result.difference += ", ";
    result.difference += field_names[i];
  }
  if (!result.difference.empty())
    result.reason = Reason::disagreement;
  else if (mine.values[AgreementRecord::off] != 0)
    result.reason = Reason::off;
  else if (mine.values[AgreementRecord::device] != 0)
    result.reason = Reason::device;
  else if (mine.values[AgreementRecord::packs_exactly] == 0)
    result.reason = Reason::datatype;
  return result;
}

} // namespace thalweg::runtime
