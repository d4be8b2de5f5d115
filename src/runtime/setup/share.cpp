#include "runtime/setup/share.hpp"

#include "runtime/mpi/waiting.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace thalweg::runtime {
namespace {

/// A mark, the size of the bytes, and the first of them: what is short needs no second message.
struct Head {
  static constexpr std::size_t words = 128;
  static constexpr std::uint64_t mark = 0x54484c5748454144;
  std::array<std::uint64_t, words> content{};

  static constexpr std::size_t most = (words - 2) * sizeof content[0];
  [[nodiscard]] bool is_marked() const { return content[0] == mark; }
  [[nodiscard]] std::size_t size() const { return content[1]; }

  void put(const std::string& bytes) {
    content[0] = mark;
    content[1] = bytes.size();
    std::memcpy(&content[2], bytes.data(), std::min(bytes.size(), most));
  }
};

/// Gives all ranks what doesn't go with the head. Collective.
void share_rest(const Head& head, std::string& bytes, MPI_Comm comm) {
  bytes.resize(head.size());
  std::size_t done = std::min(bytes.size(), Head::most);
  std::memcpy(bytes.data(), &head.content[2], done);
  constexpr std::size_t largest = std::size_t{1} << 30;
  for (; done < bytes.size(); done += largest)
    native.Bcast(bytes.data() + done, static_cast<int>(std::min(largest, bytes.size() - done)),
                 native.byte, 0, comm);
}

} // namespace

void share(std::string& bytes, MPI_Comm comm) {
  Head head;
  head.put(bytes);
  native.Bcast(&head, sizeof head, native.byte, 0, comm);
  share_rest(head, bytes, comm);
}

bool share_within(double seconds, std::string& bytes, MPI_Comm comm) {
  static Head own, all; // still in use if the time is over
  int rank = 0;
  native.Comm_rank(comm, &rank);
  if (rank == 0) own.put(bytes);
  // A sum, since the maximum of MPICH 4.0 takes MPI_UINT64_T for signed. A rank that has given up
  // before may have put something else in its place, which has no mark.
  MPI_Request request = native.request_null;
  if (native.Iallreduce(own.content.data(), all.content.data(), static_cast<int>(Head::words),
                        native.uint64, native.sum, comm, &request) != MPI_SUCCESS ||
      !await(request, MPI_STATUS_IGNORE, end_ns_after(seconds)) || !all.is_marked())
    return false;
  share_rest(all, bytes, comm);
  return true;
}

} // namespace thalweg::runtime
