#include "record_reader.hpp"
#include "runtime/observe/matrix_row.hpp"

#include <array>
#include <doctest/doctest.h>
#include <filesystem>
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
  EntryHead head;
  std::int32_t to = 0, reserved = 0;
  std::array<std::uint64_t, size_classes> messages{}, bytes{};
};
static_assert(sizeof(Entry) == sizeof(MessagesEntry));

std::map<int, Entry> by_receiver(const testing::Record& record) {
  std::map<int, Entry> result;
  for (const Entry& entry : record.entries<Entry>(EntryKind::messages))
    CHECK(result.emplace(entry.to, entry).second);
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
  RecordFile file;
  CHECK_FALSE(file.is_open());
  REQUIRE(file.open(path, {.run = 99, .world_rank = 7, .world_size = ranks}).empty());
  MatrixRow row(file, ranks);
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
      Entry& entry = expected[to];
      ++entry.messages[size_class(bytes)];
      entry.bytes[size_class(bytes)] += bytes;
    }
  }
  const testing::Record record(path);
  CHECK(std::memcmp(record.header.magic, record_magic, sizeof record_magic) == 0);
  CHECK(record.header.world_rank == 7);
  CHECK(record.header.world_size == ranks);
  CHECK(record.header.run == 99);
  const auto found = by_receiver(record);
  CHECK(found.size() == expected.size());
  for (const auto& [to, entry] : expected) {
    CHECK(found.at(to).messages == entry.messages);
    CHECK(found.at(to).bytes == entry.bytes);
  }
  CHECK(file.problem().empty());
}

TEST_CASE("a record that can't be written says why") {
  RecordFile file;
  CHECK(file.open("/nowhere/row", {}).find("/nowhere/row: can't be written") == 0);
  CHECK_FALSE(file.is_open());
}

TEST_CASE("a row whose file can't grow keeps what it has") {
  constexpr int ranks = 1000;
  const testing::TemporaryFolder folder;
  RecordFile file;
  REQUIRE(file.open(folder.path + "/row", {.world_size = ranks}).empty());
  MatrixRow row(file, ranks);
  row.count(3, 10);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto size = std::filesystem::file_size(folder.path + "/row");
  const rlimit limit{size, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  for (int to = 0; to < ranks; ++to)
    row.count(to, 10);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(file.problem().find("can't be written") != std::string::npos);
  const auto found = by_receiver(testing::Record(folder.path + "/row"));
  CHECK(found.size() == (size - sizeof(RecordHeader)) / sizeof(Entry));
  CHECK(found.at(3).messages[size_class(10)] == 2);
}
