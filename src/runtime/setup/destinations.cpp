#include "runtime/setup/destinations.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <numeric>

namespace thalweg::runtime {
namespace {

int no_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

} // namespace

Destinations::Destinations(int outside) : _outside(outside) {
  native.Comm_create_keyval(no_copy, on_delete, &_keyval, nullptr);
}

int Destinations::world_rank(MPI_Comm comm, int destination) {
  const Ranks* ranks = find(comm);
  if (ranks == nullptr) ranks = &add(comm);
  return destination >= 0 && index(destination) < ranks->size() ? (*ranks)[index(destination)] : -1;
}

const Destinations::Ranks* Destinations::find(MPI_Comm comm) {
  struct Last {
    const Destinations* among;
    std::uint64_t version;
    MPI_Comm comm;
    const Ranks* found;
  };
  static thread_local Last last{};
  if (last.found != nullptr && last.among == this && last.comm == comm && last.version == _version)
    return last.found;
  const std::lock_guard lock(_mutex);
  const auto found = _ranks.find(comm);
  last = {this, _version, comm, found != _ranks.end() ? found->second.get() : nullptr};
  return last.found;
}

const Destinations::Ranks& Destinations::add(MPI_Comm comm) {
  auto ranks = std::make_unique<const Ranks>(describe(comm));
  const Ranks* result = nullptr;
  {
    const std::lock_guard lock(_mutex);
    // Another thread may have added it meanwhile.
    result = _ranks.try_emplace(comm, std::move(ranks)).first->second.get();
  }
  native.Comm_set_attr(comm, _keyval, this);
  return *result;
}

Destinations::Ranks Destinations::describe(MPI_Comm comm) const {
  MPI_Group world{}, group{};
  int is_inter = 0, size = 0;
  native.Comm_group(native.comm_world, &world);
  native.Comm_test_inter(comm, &is_inter);
  (is_inter != 0 ? native.Comm_remote_group : native.Comm_group)(comm, &group);
  native.Group_size(group, &size);
  Ranks ranks(index(size)), result(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  native.Group_translate_ranks(group, size, ranks.data(), world, result.data());
  native.Group_free(&group);
  native.Group_free(&world);
  std::ranges::replace(result, MPI_UNDEFINED, _outside);
  return result;
}

int Destinations::on_delete(MPI_Comm comm, int, void* value, void*) {
  auto& it = *static_cast<Destinations*>(value);
  const std::lock_guard lock(it._mutex);
  ++it._version;
  it._ranks.erase(comm);
  return MPI_SUCCESS;
}

void Destinations::free_keyval() {
  if (_keyval != MPI_KEYVAL_INVALID) native.Comm_free_keyval(&_keyval);
}

} // namespace thalweg::runtime
