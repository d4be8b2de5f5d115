#include "units/whole_file.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace thalweg::units {
namespace {

/// Returns the file that a link leads to, or `path`.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> found(realpath(path.c_str(), nullptr), std::free);
  return found ? found.get() : path;
}

bool is_device(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

const char* remedy(int error) {
  switch (error) {
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    return "make room, or name a file elsewhere";
  case EROFS:
  case EACCES:
  case EPERM:
    return "name a file where you may write";
  default:
    return "name another file";
  }
}

} // namespace

std::string write_error(const std::string& path, int error) {
  return path + ": can't be written: " + std::generic_category().message(error) + "; " +
         remedy(error);
}

std::string make_folder(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) return write_error(part, errno);
    if (at == std::string::npos) return {};
  }
}

SurvivesFileLimit::SurvivesFileLimit() {
  sigemptyset(&_signal);
  sigaddset(&_signal, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &_signal, &_before);
}

SurvivesFileLimit::~SurvivesFileLimit() {
  if (sigismember(&_before, SIGXFSZ) == 1) return;
  const timespec at_once{};
  while (sigtimedwait(&_signal, nullptr, &at_once) == SIGXFSZ) {
  }
  pthread_sigmask(SIG_SETMASK, &_before, nullptr);
}

WholeFile::WholeFile(const std::string& path) : _path(path), _target(real_path(path)) {
  // Machines that share the folder may have a process of the same number.
  std::uint64_t unique = 0;
  if (getentropy(&unique, sizeof unique) != 0) unique = static_cast<std::uint64_t>(getpid());
  if (!is_device(_target)) _temporary = _target + "." + std::to_string(unique) + ".new";
  _file = std::fopen((_temporary.empty() ? _target : _temporary).c_str(), "wb");
  note_error(_file != nullptr);
}

WholeFile::~WholeFile() {
  if (_file == nullptr) return;
  std::fclose(_file);
  if (!_temporary.empty()) unlink(_temporary.c_str());
}

void WholeFile::note_error(bool good) {
  if (!good && _error == 0) _error = errno;
}

void WholeFile::write(const void* data, std::size_t size) {
  if (_error == 0) note_error(std::fwrite(data, 1, size, _file) == size);
}

std::string WholeFile::finish() {
  if (_file != nullptr) {
    note_error(std::fclose(_file) == 0);
    _file = nullptr;
    if (!_temporary.empty()) {
      if (_error == 0) note_error(std::rename(_temporary.c_str(), _target.c_str()) == 0);
      if (_error != 0) unlink(_temporary.c_str());
    }
  }
  return _error == 0 ? std::string() : write_error(_path, _error);
}

std::string write_whole(const std::string& path, const std::string& content) {
  WholeFile file(path);
  file.write(content.data(), content.size());
  return file.finish();
}

} // namespace thalweg::units
