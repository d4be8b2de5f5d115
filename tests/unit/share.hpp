#pragma once

#include <algorithm>
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
