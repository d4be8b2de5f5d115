#include "runtime/observe/mapped_file.hpp"

#include "units/whole_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thalweg::runtime::observe {
namespace {

/// Opens an empty file. Returns -1 and sets errno if it can't be. Another run may have mapped the
/// file by this name and would be killed if that became shorter: it keeps that, without the name.
int open_empty(const char* path) {
  constexpr int flags = O_RDWR | O_CREAT | O_CLOEXEC;
  constexpr mode_t mode = 0666;
  for (;;) {
    struct stat found {};
    const bool is_there = lstat(path, &found) == 0;
    if (is_there && !S_ISREG(found.st_mode)) return open(path, flags | O_TRUNC, mode); // a device
    if (is_there && unlink(path) != 0 && errno != ENOENT) return -1;
    const int file = open(path, flags | O_EXCL, mode);
    if (file >= 0 || errno != EEXIST) return file;
    // Another run has made one meanwhile.
  }
}

/// Makes pages of a file's bytes that nobody has touched. Where they are written the system makes
/// large ones, which is a fourth of the work of faults at small ones. What fails here, fails again
/// when the pages are touched.
void make_pages(int file, std::size_t begin, std::size_t end) {
  static constexpr std::array<std::byte, std::size_t{1} << 16> zeros{};
  while (begin < end) {
    const ssize_t written =
        pwrite(file, zeros.data(), std::min(zeros.size(), end - begin), static_cast<off_t>(begin));
    if (written <= 0) return;
    begin += static_cast<std::size_t>(written);
  }
}

/// Reserves space for a file's bytes. Returns errno's value, or 0. Bytes before `begin` aren't
/// asked for again: file systems look at each of their blocks, or write to it.
int reserve(int file, std::size_t begin, std::size_t end) {
  // A file in memory isn't grown where a signal comes meanwhile: what is done at once is done
  // before a profiler's next signal.
  constexpr std::size_t at_once = std::size_t{1} << 20;
  int error = 0;
  while (begin < end && (error == 0 || error == EINTR)) {
    const std::size_t bytes = std::min(at_once, end - begin);
    error = posix_fallocate(file, static_cast<off_t>(begin), static_cast<off_t>(bytes));
    if (error == 0) begin += bytes;
  }
  return error;
}

} // namespace

MappedFile::~MappedFile() {
  if (_data != nullptr) munmap(_data, _most);
  if (_file >= 0) close(_file);
}

std::string MappedFile::open(const std::string& path, std::size_t most) {
  _path = path;
  _most = most;
  _file = open_empty(path.c_str());
  if (_file < 0) return units::write_error(path, errno);
  // Addresses for all that there can be; only what the file has room for is ever touched.
  void* const memory = mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED, _file, 0);
  if (memory == MAP_FAILED) return units::write_error(path, errno);
  _data = static_cast<std::byte*>(memory);
  return {};
}

bool MappedFile::grow(std::size_t size) {
  if (size <= _size) return true;
  if (size > _most || _error != 0) return false;
  const units::SurvivesFileLimit survives;
  _error = reserve(_file, _size, size);
  if (_error == 0) {
    // Pages that are made at once are cheaper than each at its first touch, in the program's time.
    make_pages(_file, _size, size);
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t first = _size - _size % page;
    madvise(_data + first, size - first, MADV_POPULATE_WRITE);
    _size = size;
  }
  if (_size == 0) remove(); // an empty file would only puzzle its readers
  return _error == 0;
}

std::string MappedFile::problem() const {
  return _error == 0 ? std::string() : units::write_error(_path, _error);
}

void MappedFile::remove() {
  struct stat own {};
  struct stat named {};
  if (_file < 0 || fstat(_file, &own) != 0 || stat(_path.c_str(), &named) != 0) return;
  if (own.st_dev == named.st_dev && own.st_ino == named.st_ino) unlink(_path.c_str());
}

} // namespace thalweg::runtime::observe
