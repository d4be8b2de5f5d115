#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mpi.h>
#include <span>
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

/// One of several ways to say "blocks of these many units of a basic type, in this order": a
/// datatype, counts and where each unit lies. Equal blocks lie one after the other; blocks
/// `apart` in an order of their own, with gaps.
class Layout {
public:
  static constexpr std::uint64_t choices = 6, before_its_address = 3;
  Layout(const Basic& basic, std::vector<std::int64_t> units, std::uint64_t choice,
         bool apart = false)
      : _basic(basic), _units(std::move(units)) {
    build(choice);
    if (_type != basic.type) MPI_Type_commit(&_type);
    place(apart ? choice : 0);
  }
  ~Layout() {
    if (_type != _basic.type) MPI_Type_free(&_type);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  [[nodiscard]] const char* name() const { return _name; }
  [[nodiscard]] MPI_Datatype type() const { return _type; }
  /// Elements of a block, and where they begin in the buffer.
  [[nodiscard]] std::int64_t count(std::size_t block = 0) const {
    return _units.empty() ? 0 : _units[block] / std::ssize(_offsets);
  }
  template <class Integer>
  [[nodiscard]] std::vector<Integer> counts() const {
    std::vector<Integer> all;
    for (std::size_t block = 0; block < _units.size(); ++block)
      all.push_back(static_cast<Integer>(count(block)));
    return all;
  }
  template <class Integer>
  [[nodiscard]] std::vector<Integer> displacements() const {
    return {_begins.begin(), _begins.end()};
  }
  /// A buffer of nothing, with room around the data.
  [[nodiscard]] std::vector<unsigned char> buffer() const {
    return std::vector<unsigned char>(static_cast<std::size_t>(2 * margin() + _end * _extent),
                                      0xa5);
  }
  [[nodiscard]] void* address(std::vector<unsigned char>& buffer) const {
    return buffer.data() + margin();
  }
  /// The distance of the address from the buffer's begin.
  [[nodiscard]] std::int64_t margin() const { return 4 * _basic.size; }
  /// Writes the values that `seed` stands for to a block, unit by unit.
  void fill(std::span<unsigned char> buffer, std::uint64_t seed, std::size_t block = 0) const {
    std::uint64_t state = seed;
    for (std::int64_t element = 0; element < count(block); ++element)
      for (const std::int64_t offset : _offsets) {
        state = state * 6364136223846793005 + 1442695040888963407;
        const std::uint64_t value = state >> 8;
        std::memcpy(buffer.data() + margin() + (_begins[block] + element) * _extent + offset,
                    &value, static_cast<std::size_t>(_basic.size));
      }
  }

private:
  void build(std::uint64_t choice) {
    const std::int64_t b = _basic.size;
    const auto divide = [&](std::int64_t by) {
      return std::ranges::all_of(_units, [&](std::int64_t units) { return units % by == 0; });
    };
    const bool equal =
        std::ranges::adjacent_find(_units, std::ranges::not_equal_to()) == _units.end();
    const std::int64_t first = _units.empty() ? 0 : _units.front();
    switch (choice % choices) {
    case 0:
      if (!equal || first == 0) return plain();
      make("one contiguous element", first * b, range(first, b));
      MPI_Type_contiguous(static_cast<int>(first), _basic.type, &_type);
      break;
    case 1:
      if (!divide(4)) return plain();
      make("vectors", 5 * b, {0, b, 3 * b, 4 * b});
      MPI_Type_vector(2, 2, 3, _basic.type, &_type);
      break;
    case 2:
      if (!divide(3)) return plain();
      make("indexed, out of order", 6 * b, {4 * b, 0, 2 * b});
      index(6 * b);
      break;
    case before_its_address:
      make("before its address", 3 * b, {-2 * b});
      index(3 * b);
      break;
    case 4:
      if (!divide(2)) return plain();
      make("swapped pairs without gaps", 2 * b, {b, 0});
      index(2 * b);
      break;
    default:
      return plain();
    }
  }
  /// In the order of the blocks, or another that `choice` stands for.
  void place(std::uint64_t choice) {
    _begins.resize(_units.size());
    for (std::size_t i = 0; i < _units.size(); ++i) {
      const std::size_t block = choice % 2 == 0 ? i : _units.size() - 1 - i;
      _begins[block] = _end;
      _end += count(block) + static_cast<std::int64_t>((choice >> (block % 32)) % 3);
    }
  }
  static std::vector<std::int64_t> range(std::int64_t units, std::int64_t size) {
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = 0; i < units; ++i)
      offsets.push_back(i * size);
    return offsets;
  }
  void plain() {
    make("plain", _basic.size, {0});
    _type = _basic.type;
  }
  void make(const char* name, std::int64_t extent, std::vector<std::int64_t> offsets) {
    _name = name;
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
  std::vector<std::int64_t> _units, _begins; ///< of each block; begins in elements
  std::int64_t _end = 0;                     ///< of all blocks
  const char* _name = "";
  MPI_Datatype _type = MPI_DATATYPE_NULL;
  std::int64_t _extent = 0;
  std::vector<std::int64_t> _offsets; ///< of the units of one element
};

/// Elements of a type at absolute addresses as one element, to be used with MPI_BOTTOM.
class AtAddresses {
public:
  struct Part {
    const void* address;
    std::int64_t count;
  };
  AtAddresses(MPI_Datatype of, std::initializer_list<Part> parts) {
    std::vector<int> counts;
    std::vector<MPI_Aint> places;
    for (const Part& part : parts) {
      counts.push_back(static_cast<int>(part.count));
      MPI_Get_address(const_cast<void*>(part.address), &places.emplace_back());
    }
    MPI_Type_create_hindexed(static_cast<int>(counts.size()), counts.data(), places.data(), of,
                             &_type);
    MPI_Type_commit(&_type);
  }
  ~AtAddresses() { MPI_Type_free(&_type); }
  AtAddresses(const AtAddresses&) = delete;
  AtAddresses& operator=(const AtAddresses&) = delete;
  [[nodiscard]] MPI_Datatype type() const { return _type; }

private:
  MPI_Datatype _type = MPI_DATATYPE_NULL;
};

/// Blocks with a datatype each, one after the other, as an alltoallw has them.
class TypedLayout {
public:
  TypedLayout(const Basic& basic, const std::vector<std::int64_t>& units, std::uint64_t choice) {
    for (const std::int64_t of_block : units) {
      _blocks.push_back(std::make_unique<Layout>(basic, std::vector{of_block}, choice));
      _begins.push_back(_end);
      _end += std::ssize(_blocks.back()->buffer());
      choice = choice / 6 + _blocks.size();
    }
  }

  [[nodiscard]] std::vector<MPI_Datatype> types() const {
    std::vector<MPI_Datatype> all;
    for (const auto& block : _blocks)
      all.push_back(block->type());
    return all;
  }
  template <class Integer>
  [[nodiscard]] std::vector<Integer> counts() const {
    std::vector<Integer> all;
    for (const auto& block : _blocks)
      all.push_back(static_cast<Integer>(block->count()));
    return all;
  }
  /// In bytes.
  template <class Integer>
  [[nodiscard]] std::vector<Integer> displacements() const {
    std::vector<Integer> all;
    for (std::size_t i = 0; i < _blocks.size(); ++i)
      all.push_back(static_cast<Integer>(_begins[i] + _blocks[i]->margin()));
    return all;
  }
  [[nodiscard]] std::vector<unsigned char> buffer() const {
    return std::vector<unsigned char>(static_cast<std::size_t>(_end), 0xa5);
  }
  void fill(std::span<unsigned char> buffer, std::uint64_t seed, std::size_t block) const {
    _blocks[block]->fill(buffer.subspan(static_cast<std::size_t>(_begins[block])), seed);
  }

private:
  std::vector<std::unique_ptr<Layout>> _blocks;
  std::vector<std::int64_t> _begins; ///< of each block's part of the buffer, in bytes
  std::int64_t _end = 0;
};

} // namespace thalweg::test
