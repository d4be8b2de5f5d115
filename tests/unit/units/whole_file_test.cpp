#include "../temporary_folder.hpp"
#include "units/whole_file.hpp"

#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>

namespace thalweg::units {
namespace {

namespace fs = std::filesystem;

using testing::TemporaryFolder;

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Limits the size of the files that this process writes, as long as it lives.
struct FileLimit {
  rlimit before{};
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
};

} // namespace

TEST_CASE("a file is there as a whole or not at all") {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/file";
  {
    WholeFile file(path);
    file.write("new", 3);
    CHECK_FALSE(fs::exists(path));
  }
  CHECK(folder.files() == 0);
  CHECK(write_whole(path, "old").empty());
  {
    WholeFile file(path);
    file.write("new", 3);
    CHECK(content(path) == "old");
    CHECK(file.finish().empty());
  }
  CHECK(content(path) == "new");
  CHECK(folder.files() == 1);
}

TEST_CASE("two that write a file at once don't disturb each other") {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/file";
  WholeFile first(path), second(path);
  first.write("first", 5);
  second.write("second", 6);
  CHECK(first.finish().empty());
  CHECK(content(path) == "first");
  CHECK(second.finish().empty());
  CHECK(content(path) == "second");
  CHECK(folder.files() == 1);
}

TEST_CASE("what doesn't fit leaves the file as it was, and the process alive") {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/file";
  CHECK(write_whole(path, "old").empty());
  const auto before = std::signal(SIGXFSZ, SIG_DFL);
  std::string problem;
  {
    const FileLimit limit(1000);
    problem = write_whole(path, std::string(100'000, 'x'));
  }
  std::signal(SIGXFSZ, before);
  CHECK(problem ==
        path + ": can't be written: File too large; make room, or name a file elsewhere");
  CHECK(content(path) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("what is no file is written as it is") {
  const TemporaryFolder folder;
  CHECK(write_whole("/dev/null", "text").empty());
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(write_whole("/dev/full", "text") == "/dev/full: can't be written: No space left on "
                                            "device; make room, or name a file elsewhere");
  CHECK(write_whole(folder.path, "text") ==
        folder.path + ": can't be written: Is a directory; name another file");
  CHECK(folder.files() == 0);
}

TEST_CASE("a link stays a link") {
  const TemporaryFolder folder;
  const std::string file = folder.path + "/file", link = folder.path + "/link";
  CHECK(write_whole(file, "old").empty());
  fs::create_symlink("file", link);
  CHECK(write_whole(link, "new").empty());
  CHECK(fs::is_symlink(link));
  CHECK(content(file) == "new");
}

} // namespace thalweg::units
