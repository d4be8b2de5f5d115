#include "../temporary_folder.hpp"
#include "runtime/observe/mapped_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

/// The bytes that were reserved: where they begin, and how many.
std::vector<std::pair<off_t, off_t>> reserved;

/// The most bytes that are reserved before a profiler's next signal.
constexpr off_t most_between_signals = off_t{1} << 20;

} // namespace

/// Takes the place of the C library's function, as on a file system in memory.
extern "C" int posix_fallocate(int file, off_t offset, off_t length) {
  if (length > most_between_signals) return EINTR;
  reserved.emplace_back(offset, length);
  return ftruncate(file, std::max(lseek(file, 0, SEEK_END), offset + length)) == 0 ? 0 : errno;
}

TEST_CASE("a growing file asks for each byte once, for few at a time") {
  const thalweg::testing::TemporaryFolder folder;
  thalweg::runtime::observe::MappedFile file;
  REQUIRE(file.open(folder.path + "/file", std::size_t{1} << 23).empty());
  reserved.clear();
  for (const std::size_t size : {5'000UL, 100'000UL, 3'000'000UL, 3'000'001UL, 1UL << 23})
    REQUIRE(file.grow(size));
  off_t end = 0;
  for (const auto& [offset, length] : reserved) {
    CHECK(offset == end);
    end = offset + length;
  }
  CHECK(end == off_t{1} << 23);
}

TEST_CASE("a file stays whole for a run whose file's name another run takes") {
  const thalweg::testing::TemporaryFolder folder;
  const std::string path = folder.path + "/file";
  thalweg::runtime::observe::MappedFile first, second;
  REQUIRE(first.open(path, std::size_t{1} << 20).empty());
  REQUIRE(first.grow(100'000));
  first.data()[99'999] = std::byte{1};
  REQUIRE(second.open(path, std::size_t{1} << 20).empty());
  REQUIRE(second.grow(10));
  second.data()[0] = std::byte{2};
  CHECK(first.data()[99'999] == std::byte{1}); // Beyond the file's end, it would be a SIGBUS.
  CHECK(std::filesystem::file_size(path) == 10);
  first.remove();
  CHECK(std::filesystem::exists(path)); // The name is the second one's.
  second.remove();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("what isn't a regular file isn't replaced by one") {
  const thalweg::testing::TemporaryFolder folder;
  const std::string path = folder.path + "/link";
  std::filesystem::create_symlink(folder.path + "/file", path);
  thalweg::runtime::observe::MappedFile file;
  REQUIRE(file.open(path, std::size_t{1} << 20).empty());
  CHECK(std::filesystem::is_symlink(path));
  CHECK(std::filesystem::exists(folder.path + "/file"));
}
