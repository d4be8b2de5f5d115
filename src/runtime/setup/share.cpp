#include "runtime/setup/share.hpp"

#include <algorithm>
#include <cstdint>

namespace thalweg::runtime {

void share(std::string& bytes, MPI_Comm comm) {
  auto size = static_cast<std::int64_t>(bytes.size());
  native.Bcast(&size, 1, native.int64, 0, comm);
  bytes.resize(static_cast<std::size_t>(size));
  constexpr std::int64_t most = std::int64_t{1} << 30;
  for (std::int64_t done = 0; done < size; done += most)
    native.Bcast(bytes.data() + done, static_cast<int>(std::min(most, size - done)), native.byte, 0,
                 comm);
}

} // namespace thalweg::runtime
