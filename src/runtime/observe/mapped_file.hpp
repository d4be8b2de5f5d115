#pragma once

#include <cstddef>
#include <string>

namespace thalweg::runtime::observe {

/// A file that is written through memory, so that what is there outlives the process, however that
/// ends. It keeps its addresses as it grows, and its space is reserved before it can be touched.
class MappedFile {
public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Makes the file, empty; another one by this name stays whole for those who have it open. Call
  /// it once. Returns nothing, or why it can't be.
  /// @param most bytes that it can ever have
  [[nodiscard]] std::string open(const std::string& path, std::size_t most);
  [[nodiscard]] bool is_open() const { return _data != nullptr; }
  /// Makes it at least `size` bytes long, the new ones zero. Returns whether that was possible; if
  /// it wasn't for the first ones, the file's name is removed.
  bool grow(std::size_t size);
  [[nodiscard]] std::byte* data() const { return _data; }
  /// Returns the bytes that may be touched.
  [[nodiscard]] std::size_t size() const { return _size; }
  /// Returns why it couldn't grow; empty if it always could.
  [[nodiscard]] std::string problem() const;
  /// Removes the file's name, unless that is another one's by now.
  void remove();

private:
  std::string _path;
  int _file = -1;
  std::byte* _data = nullptr;
  std::size_t _most = 0, _size = 0;
  int _error = 0; ///< errno's value
};

} // namespace thalweg::runtime::observe
