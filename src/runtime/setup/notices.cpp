#include "runtime/setup/notices.hpp"

#include "runtime/mpi/process.hpp"

#include <cstdint>
#include <memory>
#include <new>
#include <sstream>

namespace thalweg::runtime {

void Notices::add(const Refusal& refusal, int world_rank, bool leads) {
  const std::lock_guard lock(_mutex);
  if (!_known.insert(refusal.key).second) return;
  if (world_rank == 0)
    say(refusal.text);
  else if (leads)
    _noted += refusal.key + "\n" + refusal.text + "\n";
}

void Notices::collect(MPI_Comm comm, int tag) {
  const auto own = static_cast<std::int64_t>(_noted.size());
  std::int64_t longest = 0;
  native.Allreduce(&own, &longest, 1, native.int64, native.max, comm);
  if (longest == 0) return;
  int rank = 0, ranks = 0;
  native.Comm_rank(comm, &rank);
  native.Comm_size(comm, &ranks);
  const auto count = static_cast<std::size_t>(ranks);
  // Without memory for one rank's notes nobody's are said: all ranks must know.
  const std::unique_ptr<std::int64_t[]> sizes(new (std::nothrow) std::int64_t[count]);
  const std::unique_ptr<char[]> notes(
      new (std::nothrow) char[rank == 0 ? static_cast<std::size_t>(longest) : 1]);
  const int has_room = sizes != nullptr && notes != nullptr ? 1 : 0;
  int all_have = 0;
  native.Allreduce(&has_room, &all_have, 1, native.integer, native.min, comm);
  if (all_have == 0) return;
  native.Allgather(&own, 1, native.int64, sizes.get(), 1, native.int64, comm);
  if (rank != 0) {
    if (own > 0) native.Send(_noted.data(), static_cast<int>(own), native.byte, 0, tag, comm);
    return;
  }
  for (int other = 1; other < ranks; ++other) {
    const std::int64_t size = sizes[static_cast<std::size_t>(other)];
    if (size == 0) continue;
    MPI_Request request = native.request_null;
    native.Irecv(notes.get(), static_cast<int>(size), native.byte, other, tag, comm, &request);
    native.Wait(&request, MPI_STATUS_IGNORE);
    say_new(std::string(notes.get(), static_cast<std::size_t>(size)));
  }
}

void Notices::say_new(const std::string& notes) {
  std::istringstream lines(notes);
  for (std::string key, text; std::getline(lines, key) && std::getline(lines, text);)
    if (_known.insert(key).second) say(text);
}

} // namespace thalweg::runtime
