#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mpi.h>
#include <type_traits>
#include <vector>

namespace thalweg::test {

using Bytes = std::vector<unsigned char>;

/// An operation on a type, with a reference: the contributions combined one by one, in rank order.
class Reduction {
public:
  Reduction() = default;
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
  virtual ~Reduction() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual MPI_Datatype type() const = 0;
  [[nodiscard]] virtual MPI_Op op() const = 0;
  [[nodiscard]] virtual std::int64_t extent() const = 0;
  [[nodiscard]] virtual std::int64_t origin() const { return 0; } ///< of element 0 in a buffer
  /// Returns random elements, the same for the same seed.
  [[nodiscard]] virtual Bytes contribution(std::int64_t count, std::uint64_t seed) const = 0;
  /// Returns a buffer to receive in.
  [[nodiscard]] Bytes empty(std::int64_t count) const {
    return Bytes(static_cast<std::size_t>(count * extent() + 2 * origin()), 0xa5);
  }
  /// Returns some of the elements in a separate buffer.
  [[nodiscard]] Bytes part(const Bytes& buffer, std::int64_t begin, std::int64_t count) const {
    Bytes result = empty(count);
    std::copy_n(buffer.begin() + origin() + begin * extent(), count * extent(),
                result.begin() + origin());
    return result;
  }
  [[nodiscard]] const void* address(const Bytes& buffer) const { return buffer.data() + origin(); }
  [[nodiscard]] virtual bool is_right(const Bytes& result, const std::vector<Bytes>& contributions,
                                      std::int64_t count, bool in_place) const = 0;
};

inline std::uint64_t next(std::uint64_t& state) {
  state = state * 6364136223846793005 + 1442695040888963407;
  return state >> 16;
}

/// A predefined operation on elements of type T.
template <class T>
class Predefined final : public Reduction {
public:
  using Combine = T (*)(T, T);
  using Make = T (*)(std::uint64_t);
  Predefined(const char* name, MPI_Datatype type, MPI_Op op, Make make, Combine combine)
      : _name(name), _type(type), _op(op), _make(make), _combine(combine) {}
  [[nodiscard]] const char* name() const override { return _name; }
  [[nodiscard]] MPI_Datatype type() const override { return _type; }
  [[nodiscard]] MPI_Op op() const override { return _op; }
  [[nodiscard]] std::int64_t extent() const override { return sizeof(T); }
  [[nodiscard]] Bytes contribution(std::int64_t count, std::uint64_t seed) const override {
    Bytes bytes = empty(count);
    std::uint64_t state = seed * 77;
    for (std::int64_t i = 0; i < count; ++i)
      put(bytes, i, _make(next(state)));
    return bytes;
  }
  [[nodiscard]] bool is_right(const Bytes& result, const std::vector<Bytes>& contributions,
                              std::int64_t count, bool) const override {
    for (std::int64_t i = 0; i < count; ++i) {
      T expected = get(contributions.front(), i);
      double magnitude = 0;
      for (std::size_t rank = 0; rank < contributions.size(); ++rank) {
        const T value = get(contributions[rank], i);
        if (rank > 0) expected = _combine(expected, value);
        if constexpr (std::is_floating_point_v<T>)
          magnitude += std::abs(static_cast<double>(value));
      }
      const T actual = get(result, i);
      if constexpr (std::is_floating_point_v<T>) {
        // Each of the additions, in either order, rounds by at most half an epsilon of the sum.
        const double epsilon = sizeof(T) == 8 ? DBL_EPSILON : FLT_EPSILON;
        if (std::abs(static_cast<double>(actual - expected)) >
            static_cast<double>(contributions.size()) * epsilon * magnitude)
          return false;
      } else if (!(actual == expected)) {
        return false;
      }
    }
    return true;
  }

private:
  static T get(const Bytes& bytes, std::int64_t i) {
    T value;
    std::memcpy(&value, bytes.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    return value;
  }
  // Member by member, so that padding keeps what empty() put there.
  static void put(Bytes& bytes, std::int64_t i, const T& value) {
    unsigned char* const to = bytes.data() + static_cast<std::size_t>(i) * sizeof(T);
    if constexpr (std::is_class_v<T>) {
      std::memcpy(to + offsetof(T, value), &value.value, sizeof value.value);
      std::memcpy(to + offsetof(T, place), &value.place, sizeof value.place);
    } else {
      std::memcpy(to, &value, sizeof value);
    }
  }
  const char* _name;
  MPI_Datatype _type;
  MPI_Op _op;
  Make _make;
  Combine _combine;
};

struct DoubleInt {
  double value;
  int place;
  bool operator==(const DoubleInt& other) const {
    return value == other.value && place == other.place;
  }
};

struct Affine {
  std::uint32_t factor, shift;
  bool operator==(const Affine&) const = default;
};

/// x -> f(g(x)): associative, not commutative.
inline Affine compose(Affine f, Affine g) {
  return {f.factor * g.factor, f.factor * g.shift + f.shift};
}
inline Affine sum_and_max(Affine a, Affine b) {
  return {a.factor + b.factor, std::max(a.shift, b.shift)};
}

/// A user-defined operation on a derived type with gaps: two unsigned ints, `factor_at` bytes from
/// the element's address and 12 bytes further on.
template <Affine (*combine)(Affine, Affine), int factor_at>
class UserDefined final : public Reduction {
public:
  UserDefined(const char* name, bool commutative) : _name(name) {
    MPI_Op_create(function, commutative ? 1 : 0, &_op);
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {factor_at, factor_at + 12};
    MPI_Datatype raw = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(2, lengths, places, MPI_UINT32_T, &raw);
    MPI_Type_create_resized(raw, factor_at, element_extent, &_type);
    MPI_Type_commit(&_type);
    MPI_Type_free(&raw);
  }
  ~UserDefined() override {
    MPI_Op_free(&_op);
    MPI_Type_free(&_type);
  }
  [[nodiscard]] const char* name() const override { return _name; }
  [[nodiscard]] MPI_Datatype type() const override { return _type; }
  [[nodiscard]] MPI_Op op() const override { return _op; }
  [[nodiscard]] std::int64_t extent() const override { return element_extent; }
  [[nodiscard]] std::int64_t origin() const override { return 16; }
  [[nodiscard]] Bytes contribution(std::int64_t count, std::uint64_t seed) const override {
    Bytes bytes = empty(count);
    std::uint64_t state = seed * 77;
    for (std::int64_t i = 0; i < count; ++i)
      put(bytes.data() + origin() + i * element_extent,
          {static_cast<std::uint32_t>(next(state)), static_cast<std::uint32_t>(next(state))});
    return bytes;
  }
  [[nodiscard]] bool is_right(const Bytes& result, const std::vector<Bytes>& contributions,
                              std::int64_t count, bool) const override {
    Bytes expected = empty(count); // with its gaps, which must stay
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = origin() + i * element_extent;
      Affine value = get(contributions.front().data() + at);
      for (std::size_t rank = 1; rank < contributions.size(); ++rank)
        value = combine(value, get(contributions[rank].data() + at));
      put(expected.data() + at, value);
    }
    return result == expected;
  }

private:
  static constexpr std::int64_t element_extent = 24;
  static void function(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) {
      unsigned char* const right = static_cast<unsigned char*>(inout) + i * element_extent;
      put(right, combine(get(static_cast<unsigned char*>(in) + i * element_extent), get(right)));
    }
  }
  static Affine get(const unsigned char* element) {
    Affine result{};
    std::memcpy(&result.factor, element + factor_at, 4);
    std::memcpy(&result.shift, element + factor_at + 12, 4);
    return result;
  }
  static void put(unsigned char* element, Affine value) {
    std::memcpy(element + factor_at, &value.factor, 4);
    std::memcpy(element + factor_at + 12, &value.shift, 4);
  }

  const char* _name;
  MPI_Op _op = MPI_OP_NULL;
  MPI_Datatype _type = MPI_DATATYPE_NULL;
};

inline std::vector<std::unique_ptr<Reduction>>& reductions() {
  static std::vector<std::unique_ptr<Reduction>> all;
  if (!all.empty()) return all;
  const auto add = [&](auto* reduction) { all.emplace_back(reduction); };
  add(new Predefined<int>(
      "sum of ints", MPI_INT, MPI_SUM, [](std::uint64_t x) { return static_cast<int>(x % 100000); },
      [](int a, int b) { return a + b; }));
  add(new Predefined<double>(
      "sum of doubles", MPI_DOUBLE, MPI_SUM,
      [](std::uint64_t x) { return static_cast<double>(x) / 1e6 - 1e5; },
      [](double a, double b) { return a + b; }));
  add(new Predefined<float>(
      "sum of floats", MPI_FLOAT, MPI_SUM,
      [](std::uint64_t x) { return static_cast<float>(x % 1000003) / 1e3F; },
      [](float a, float b) { return a + b; }));
  add(new Predefined<std::int64_t>(
      "maximum of longs", MPI_INT64_T, MPI_MAX,
      [](std::uint64_t x) { return static_cast<std::int64_t>(x); },
      [](std::int64_t a, std::int64_t b) { return std::max(a, b); }));
  add(new Predefined<std::uint8_t>(
      "exclusive or of bytes", MPI_UINT8_T, MPI_BXOR,
      [](std::uint64_t x) { return static_cast<std::uint8_t>(x); },
      [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a ^ b); }));
  add(new Predefined<DoubleInt>(
      "maximum with its place", MPI_DOUBLE_INT, MPI_MAXLOC,
      [](std::uint64_t x) {
        return DoubleInt{static_cast<double>(x % 5), static_cast<int>(x / 5 % 1000)};
      },
      [](DoubleInt a, DoubleInt b) {
        if (a.value != b.value) return a.value > b.value ? a : b;
        return DoubleInt{a.value, std::min(a.place, b.place)};
      }));
  // Not before the element's address: Open MPI 4.1's own ring allreduce crashes on that.
  add(new UserDefined<sum_and_max, 0>("a commutative operation", true));
  add(new UserDefined<compose, 0>("an operation that isn't commutative", false));
  return all;
}

inline void free_reductions() { reductions().clear(); }

} // namespace thalweg::test
