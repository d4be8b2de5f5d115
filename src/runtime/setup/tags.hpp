#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

namespace thalweg::runtime {

/// The numbers by which communicators of several threads have tags of their own. Ranks agree on one
/// that is free on all of them: they propose, and all claim the largest number that was proposed.
/// Thread-safe.
class Tags {
public:
  /// A number in use. It is free again when the last owner goes, so all own it who may still get
  /// messages by it. Owners may not outlive the numbers.
  using Number = std::shared_ptr<const int>;

  /// Returns the lowest number above `above`, and above COMM_WORLD's 0, that no communicator of
  /// this process uses and that isn't proposed to the ranks of another one. O(numbers in use).
  int propose(int above) {
    const std::lock_guard lock(_mutex);
    int number = above + 1;
    while (_used.contains(number) || _proposed.contains(number))
      ++number;
    _proposed.insert(number);
    return number;
  }
  /// Returns what numbers are to be above when one that the ranks agreed on was in use on some:
  /// twice that, so that after a few rounds they are above all in use, and not far above.
  static int above_conflict(int number) { return 2 * std::min(number, 1 << 28); }
  /// Lets a proposed number be proposed again.
  void withdraw(int number) {
    const std::lock_guard lock(_mutex);
    _proposed.erase(number);
  }
  /// Returns the number, in use from now on; null if a communicator of this process uses it.
  Number claim(int number) {
    auto made = std::make_unique<int>(number);
    const auto release = [this](const int* given) {
      const std::lock_guard lock(_mutex);
      _used.erase(*given);
      delete given;
    };
    {
      const std::lock_guard lock(_mutex);
      if (!_used.insert(number).second) return nullptr;
    }
    return Number(made.release(), release); // which releases it also if there is no memory
  }

private:
  std::mutex _mutex;
  std::set<int> _used, _proposed;
};

} // namespace thalweg::runtime
