#include "runtime/setup/notices.hpp"

#include "runtime/mpi/process.hpp"

#include <cstdint>
#include <sstream>
#include <vector>

namespace thalweg::runtime {

void Notices::add(const Refusal& refusal, int world_rank, bool leads) {
  const std::lock_guard lock(_mutex);
  if (!_known.insert(refusal.key).second) return;
  if (world_rank == 0)
    say(refusal.text);
  else if (leads)
    _noted += refusal.key + "\n" + refusal.text + "\n";
}

void Notices::collect(MPI_Comm comm) {
  const auto own = static_cast<std::int64_t>(_noted.size());
  std::int64_t longest = 0;
  native.Allreduce(&own, &longest, 1, native.int64, native.max, comm);
  if (longest == 0) return;
  int rank = 0, ranks = 0;
  native.Comm_rank(comm, &rank);
  native.Comm_size(comm, &ranks);
  const auto length = static_cast<std::size_t>(longest);
  _noted.resize(length);
  std::vector<char> all(length * static_cast<std::size_t>(ranks));
  native.Allgather(_noted.data(), static_cast<int>(length), native.byte, all.data(),
                   static_cast<int>(length), native.byte, comm);
  if (rank != 0) return;
  for (std::size_t at = 0; at < all.size(); at += length)
    say_new(std::string(all.data() + at, length));
}

void Notices::say_new(const std::string& notes) {
  std::istringstream lines(notes);
  for (std::string key, text; std::getline(lines, key) && std::getline(lines, text);)
    if (_known.insert(key).second) say(text);
}

} // namespace thalweg::runtime
