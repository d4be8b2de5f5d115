#include "runtime/setup/destinations.hpp"

#include "runtime/setup/communicator.hpp"
#include "runtime/setup/neighbors.hpp"

#include <algorithm>

namespace thalweg::runtime {

Destinations::Destinations(int outside) : _outside(outside) {
  native.Comm_create_keyval(no_copy, on_delete, &_keyval, nullptr);
}

const Destinations::Ranks& Destinations::add(MPI_Comm comm) {
  if (has_thread_ranks(comm)) {
    static const auto* const none = new Ranks; // never destroyed: threads may send at exit
    return *none;
  }
  auto ranks = std::make_unique<Ranks>(Ranks{world_ranks_of(comm), {}});
  std::ranges::replace(ranks->all, MPI_UNDEFINED, _outside);
  int between_groups = 0, own = 0;
  native.Comm_test_inter(comm, &between_groups);
  native.Comm_rank(comm, &own);
  if (between_groups == 0)
    for (const int neighbor : Neighbors::of(comm, own).destinations)
      ranks->neighbors.push_back(ranks->world_rank(neighbor));
  const auto [result, is_new] = _ranks.add(comm, std::move(ranks));
  if (is_new) native.Comm_set_attr(comm, _keyval, this);
  return result;
}

int Destinations::on_delete(MPI_Comm comm, int, void* value, void*) {
  static_cast<Destinations*>(value)->_ranks.take(comm);
  return MPI_SUCCESS;
}

void Destinations::free_keyval() {
  if (_keyval != MPI_KEYVAL_INVALID) native.Comm_free_keyval(&_keyval);
}

} // namespace thalweg::runtime
