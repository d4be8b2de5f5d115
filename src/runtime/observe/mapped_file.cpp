#include "runtime/observe/mapped_file.hpp"

#include "units/whole_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace thalweg::runtime::observe {
namespace {

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
  _file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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
  if (_size == 0) unlink(_path.c_str()); // an empty file would only puzzle its readers
  return _error == 0;
}

std::string MappedFile::problem() const {
  return _error == 0 ? std::string() : units::write_error(_path, _error);
}

void MappedFile::remove() {
  if (_file >= 0) unlink(_path.c_str());
}

} // namespace thalweg::runtime::observe
