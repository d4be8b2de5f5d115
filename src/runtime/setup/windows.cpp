#include "runtime/setup/windows.hpp"

#include "runtime/setup/communicator.hpp"
#include "units/index.hpp"

#include <algorithm>

namespace thalweg::runtime {

int Windows::world_rank(MPI_Win window, int target) {
  const Ranks* ranks = _ranks.find(window);
  if (ranks == nullptr) {
    MPI_Group group{};
    native.Win_get_group(window, &group);
    auto found = std::make_unique<Ranks>(take_world_ranks(group));
    std::ranges::replace(*found, MPI_UNDEFINED, _outside);
    ranks = &_ranks.add(window, std::move(found)).first;
  }
  return target >= 0 && index(target) < ranks->size() ? (*ranks)[index(target)] : -1;
}

} // namespace thalweg::runtime
