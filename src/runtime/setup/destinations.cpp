#include "runtime/setup/destinations.hpp"

#include "runtime/setup/communicator.hpp"
#include "units/index.hpp"

#include <algorithm>

namespace thalweg::runtime {

Destinations::Destinations(int outside) : _outside(outside) {
  native.Comm_create_keyval(no_copy, on_delete, &_keyval, nullptr);
}

int Destinations::world_rank(MPI_Comm comm, int destination) {
  const Ranks* ranks = _ranks.find(comm);
  if (ranks == nullptr) ranks = &add(comm);
  return destination >= 0 && index(destination) < ranks->size() ? (*ranks)[index(destination)] : -1;
}

const Destinations::Ranks& Destinations::add(MPI_Comm comm) {
  auto ranks = std::make_unique<Ranks>(world_ranks_of(comm));
  std::ranges::replace(*ranks, MPI_UNDEFINED, _outside);
  const Ranks& result = _ranks.add(comm, std::move(ranks));
  native.Comm_set_attr(comm, _keyval, this);
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
