#pragma once

#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <string>

namespace thalweg::testing {

/// A folder that goes with the test.
struct TemporaryFolder {
  std::string path = (std::filesystem::temp_directory_path() / "thalweg-XXXXXX").string();
  TemporaryFolder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] auto files() const {
    return std::distance(std::filesystem::directory_iterator(path), {});
  }
};

} // namespace thalweg::testing
