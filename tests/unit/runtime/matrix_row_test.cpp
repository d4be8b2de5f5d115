#include "../temporary_folder.hpp"
#include "runtime/observe/matrix_row.hpp"

#include <array>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace thalweg;
using namespace thalweg::runtime::observe;

namespace {

/// An entry as it is in the file.
struct Entry {
  std::int32_t used, to;
  std::array<std::uint64_t, size_classes> messages, bytes;
  bool operator==(const Entry&) const = default;
};
static_assert(sizeof(Entry) == sizeof(MatrixEntry));

struct File {
  MatrixHeader header;
  std::map<int, Entry> entries; ///< in use, by receiver
};

File read(const std::string& path) {
  File result;
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.read(reinterpret_cast<char*>(&result.header), sizeof result.header));
  for (Entry entry; file.read(reinterpret_cast<char*>(&entry), sizeof entry);)
    if (entry.used == 1) CHECK(result.entries.emplace(entry.to, entry).second);
  return result;
}

} // namespace

TEST_CASE("size classes hold the sizes up to their limits") {
  constexpr std::array<std::uint64_t, 6> limits{64, 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26};
  CHECK(size_class(0) == 0);
  CHECK(size_class(1) == 1);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    CHECK(size_class(limits[i]) == i + 1);
    CHECK(size_class(limits[i] + 1) == i + 2);
  }
  CHECK(size_class(~std::uint64_t{0}) == size_classes - 1);
}

TEST_CASE("a row can be read from its file while it grows, with the counts of all threads") {
  constexpr int ranks = 300, threads = 3, messages = 5000;
  const testing::TemporaryFolder folder;
  const std::string path = folder.path + "/row";
  MatrixRow row;
  CHECK_FALSE(row.is_open());
  REQUIRE(row.open(path, 7, ranks).empty());
  concurrent = true;
  std::vector<std::thread> senders;
  for (unsigned seed = 0; seed < threads; ++seed)
    senders.emplace_back([&row, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < messages; ++i) {
        const auto to = static_cast<int>(random() % (ranks + 1));
        row.count(to, random() % 100'000);
      }
    });
  for (auto& sender : senders)
    sender.join();

  std::map<int, Entry> expected;
  for (unsigned seed = 0; seed < threads; ++seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < messages; ++i) {
      const auto to = static_cast<int>(random() % (ranks + 1));
      const std::uint64_t bytes = random() % 100'000;
      Entry& entry = expected.try_emplace(to, Entry{1, to, {}, {}}).first->second;
      ++entry.messages[size_class(bytes)];
      entry.bytes[size_class(bytes)] += bytes;
    }
  }
  const File file = read(path);
  CHECK(std::memcmp(file.header.magic, matrix_magic, sizeof matrix_magic) == 0);
  CHECK(file.header.world_rank == 7);
  CHECK(file.header.world_size == ranks);
  CHECK(file.entries == expected);
  CHECK(row.problem().empty());
}

TEST_CASE("a row that can't be written says why") {
  MatrixRow row;
  CHECK(row.open("/nowhere/row", 0, 2).find("/nowhere/row: can't be written") == 0);
  CHECK_FALSE(row.is_open());
}

TEST_CASE("a row whose file can't grow keeps what it has") {
  constexpr int ranks = 1000;
  const testing::TemporaryFolder folder;
  MatrixRow row;
  REQUIRE(row.open(folder.path + "/row", 0, ranks).empty());
  row.count(3, 10);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto size = std::filesystem::file_size(folder.path + "/row");
  const rlimit limit{size, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  for (int to = 0; to < ranks; ++to)
    row.count(to, 10);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(row.problem().find("can't be written") != std::string::npos);
  const File file = read(folder.path + "/row");
  CHECK(file.entries.size() == (size - sizeof(MatrixHeader)) / sizeof(MatrixEntry));
  CHECK(file.entries.at(3).messages[size_class(10)] == 2);
}
