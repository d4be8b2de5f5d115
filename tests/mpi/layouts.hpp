#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mpi.h>
#include <vector>

namespace thalweg::test {

struct Basic {
  const char* name;
  MPI_Datatype type;
  std::int64_t size;
};

inline const std::vector<Basic>& basic_types() {
  static const std::vector<Basic> types = {
      {"bytes", MPI_BYTE, 1}, {"ints", MPI_INT, sizeof(int)}, {"doubles", MPI_DOUBLE, 8}};
  return types;
}

/// One of several ways to say "these many units of a basic type, in this order": a datatype, a
/// count and where each unit lies.
class Layout {
public:
  Layout(const Basic& basic, std::int64_t units, std::uint64_t choice) : _basic(basic) {
    build(units, choice);
    if (_type != basic.type) MPI_Type_commit(&_type);
  }
  ~Layout() {
    if (_type != _basic.type) MPI_Type_free(&_type);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  [[nodiscard]] const char* name() const { return _name; }
  [[nodiscard]] MPI_Datatype type() const { return _type; }
  [[nodiscard]] std::int64_t count() const { return _count; }
  /// Of a buffer, with room around the data.
  [[nodiscard]] std::int64_t bytes() const { return 2 * margin() + _count * _extent; }
  [[nodiscard]] void* address(std::vector<unsigned char>& buffer) const {
    return buffer.data() + margin();
  }
  /// Writes the values that `seed` stands for, unit by unit.
  void fill(std::vector<unsigned char>& buffer, std::uint64_t seed) const {
    std::uint64_t state = seed;
    for (std::int64_t element = 0; element < _count; ++element)
      for (const std::int64_t offset : _offsets) {
        state = state * 6364136223846793005 + 1442695040888963407;
        const std::uint64_t value = state >> 8;
        std::memcpy(buffer.data() + margin() + element * _extent + offset, &value,
                    static_cast<std::size_t>(_basic.size));
      }
  }

private:
  void build(std::int64_t units, std::uint64_t choice) {
    const std::int64_t b = _basic.size;
    switch (choice % 6) {
    case 0:
      make("one contiguous element", units > 0 ? 1 : 0, units * b, range(units, b));
      MPI_Type_contiguous(static_cast<int>(units), _basic.type, &_type);
      break;
    case 1:
      if (units % 4 != 0) return plain(units);
      make("vectors", units / 4, 5 * b, {0, b, 3 * b, 4 * b});
      MPI_Type_vector(2, 2, 3, _basic.type, &_type);
      break;
    case 2:
      if (units % 3 != 0) return plain(units);
      make("indexed, out of order", units / 3, 6 * b, {4 * b, 0, 2 * b});
      index(6 * b);
      break;
    case 3:
      make("before its address", units, 3 * b, {-2 * b});
      index(3 * b);
      break;
    case 4:
      if (units % 2 != 0) return plain(units);
      make("swapped pairs without gaps", units / 2, 2 * b, {b, 0});
      index(2 * b);
      break;
    default:
      return plain(units);
    }
  }
  static std::vector<std::int64_t> range(std::int64_t units, std::int64_t size) {
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = 0; i < units; ++i)
      offsets.push_back(i * size);
    return offsets;
  }
  [[nodiscard]] std::int64_t margin() const { return 4 * _basic.size; }
  void plain(std::int64_t units) {
    make("plain", units, _basic.size, {0});
    _type = _basic.type;
  }
  void make(const char* name, std::int64_t count, std::int64_t extent,
            std::vector<std::int64_t> offsets) {
    _name = name;
    _count = count;
    _extent = extent;
    _offsets = std::move(offsets);
  }
  void index(std::int64_t extent) {
    const std::vector<int> lengths(_offsets.size(), 1);
    const std::vector<MPI_Aint> places(_offsets.begin(), _offsets.end());
    MPI_Datatype raw = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                             _basic.type, &raw);
    MPI_Type_create_resized(raw, std::min<MPI_Aint>(0, places.front()), extent, &_type);
    MPI_Type_free(&raw);
  }

  Basic _basic;
  const char* _name = "";
  MPI_Datatype _type = MPI_DATATYPE_NULL;
  std::int64_t _count = 0, _extent = 0;
  std::vector<std::int64_t> _offsets; ///< of the units of one element
};

} // namespace thalweg::test
