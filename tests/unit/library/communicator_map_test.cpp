#include "runtime/setup/communicator_map.hpp"

#include <array>
#include <cstddef>
#include <doctest/doctest.h>
#include <memory>

namespace thalweg::runtime {

TEST_CASE("what goes while others are taken out one by one isn't taken") {
  static std::array<char, 3> objects; // whose addresses are handles
  const auto handle = [](std::size_t number) {
    return reinterpret_cast<MPI_Comm>(&objects[number]);
  };
  CommunicatorMap<std::size_t> map;
  for (std::size_t number = 0; number < objects.size(); ++number)
    map.add(handle(number), std::make_unique<std::size_t>(number));
  const auto first = map.take_any();
  REQUIRE(first != nullptr);
  const std::size_t gone = *first == 0 ? 1 : 0;
  CHECK(map.take(handle(gone)) != nullptr);
  CHECK(map.find(handle(*first)) == nullptr);
  const auto last = map.take_any();
  REQUIRE(last != nullptr);
  CHECK(*last == 3 - *first - gone);
  CHECK(map.take_any() == nullptr);
}

} // namespace thalweg::runtime
