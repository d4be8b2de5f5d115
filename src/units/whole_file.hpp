#pragma once

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string>

namespace thalweg::units {

/// Returns why a file can't be written, by errno's value, and what the user can do: "<path>: can't
/// be written: No space left on device; make room, or name a file elsewhere".
std::string write_error(const std::string& path, int error);

/// Lets writing beyond the process's limit of a file's size fail, instead of ending the process, as
/// long as it lives; for the calling thread.
class SurvivesFileLimit {
public:
  SurvivesFileLimit();
  ~SurvivesFileLimit();
  SurvivesFileLimit(const SurvivesFileLimit&) = delete;
  SurvivesFileLimit& operator=(const SurvivesFileLimit&) = delete;

private:
  sigset_t _signal{}, _before{};
};

/// Writes a file that readers find whole or not at all: a temporary file beside it, which is then
/// renamed. Links are followed; devices and pipes are written as they are. Lives in one thread.
class WholeFile {
public:
  /// Begins to write the file `path`; finish() reports errors.
  explicit WholeFile(const std::string& path);
  /// Removes what has been written, unless it is finished.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(const void* data, std::size_t size);
  /// Gives the file its name. Returns nothing, or a write_error().
  [[nodiscard]] std::string finish();

private:
  void note_error(bool good);

  SurvivesFileLimit _survives;
  std::string _path, _target; ///< as given; where links lead
  std::string _temporary;     ///< empty: written as it is
  std::FILE* _file = nullptr;
  int _error = 0; ///< the first one's errno
};

/// Makes a folder as mkdir -p does. Returns nothing, or a write_error().
[[nodiscard]] std::string make_folder(const std::string& path);

/// Writes a whole file or none. Returns what WholeFile::finish() does.
[[nodiscard]] std::string write_whole(const std::string& path, const std::string& content);

} // namespace thalweg::units
