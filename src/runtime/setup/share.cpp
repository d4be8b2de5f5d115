#include "runtime/setup/share.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace thalweg::runtime {

void share(std::string& bytes, MPI_Comm comm) {
  // What is short goes with its size.
  struct Head {
    std::uint64_t size = 0;
    std::array<char, 1016> first{};
  } head;
  head.size = bytes.size();
  bytes.copy(head.first.data(), head.first.size());
  native.Bcast(&head, sizeof head, native.byte, 0, comm);
  bytes.resize(head.size);
  std::size_t done = std::min(bytes.size(), head.first.size());
  std::memcpy(bytes.data(), head.first.data(), done);
  constexpr std::size_t most = std::size_t{1} << 30;
  for (; done < bytes.size(); done += most)
    native.Bcast(bytes.data() + done, static_cast<int>(std::min(most, bytes.size() - done)),
                 native.byte, 0, comm);
}

} // namespace thalweg::runtime
