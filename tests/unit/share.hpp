#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

/// A case takes ten to thirty times as long in a build with sanitizers, and what they find shows in
/// most cases: such a build tries a share of the many cases of a test, the same ones each time. All
/// other builds try all of them.
namespace thalweg::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/// Returns `all`, or with sanitizers one in `one_in` of them, and at least one.
template <class Count>
constexpr Count share_of(Count all, int one_in) {
  return sanitized ? std::max<Count>(1, all / static_cast<Count>(one_in)) : all;
}

/// The seeds of random sequences: those that THALWEG_TEST_SEEDS names ("1000:2000", without the
/// last), of which it is printed then what they were; else as many as share_of() says, from 0 on.
class Seeds {
public:
  Seeds(std::uint64_t all, int one_in) : _end(share_of(all, one_in)) {
    const char* const text = std::getenv("THALWEG_TEST_SEEDS");
    if (text == nullptr) return;
    char* next = nullptr;
    _first = std::strtoull(text, &next, 10);
    _end = *next == ':' ? std::strtoull(next + 1, nullptr, 10) : _first + 1;
    _prints = true;
  }
  [[nodiscard]] std::uint64_t first() const { return _first; }
  [[nodiscard]] std::uint64_t end() const { return _end; }
  [[nodiscard]] std::uint64_t count() const { return _end - _first; }
  /// @param changes what the ranks agreed to change
  void print(std::uint64_t calls, std::uint64_t changes) const {
    if (_prints)
      std::printf("sequences %llu calls %llu changes %llu\n",
                  static_cast<unsigned long long>(count()), static_cast<unsigned long long>(calls),
                  static_cast<unsigned long long>(changes));
  }

private:
  std::uint64_t _first = 0, _end;
  bool _prints = false;
};

/// Draws the cases to try: the first, and with sanitizers about one in `one_in` of the others.
class Sample {
public:
  explicit Sample(int one_in, unsigned seed = 1) : _skips(0, 2 * one_in - 2), _random(seed) {}
  [[nodiscard]] bool takes_next() {
    if (!sanitized) return true;
    if (_to_skip-- > 0) return false;
    _to_skip = _skips(_random);
    return true;
  }

private:
  std::uniform_int_distribution<int> _skips;
  std::mt19937 _random;
  int _to_skip = 0;
};

} // namespace thalweg::test
