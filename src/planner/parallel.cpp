#include "planner/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace thalweg::planner {

namespace {

/// The calls that threads share, each taking the next one that hasn't begun.
class Calls {
public:
  Calls(std::size_t count, const std::function<void(std::size_t)>& body)
      : _count(count), _body(body) {}

  void work() {
    for (std::size_t i = _next++; i < _count; i = _next++)
      try {
        _body(i);
      } catch (...) {
        fail(i, std::current_exception());
      }
  }
  void rethrow() const {
    if (_failure) std::rethrow_exception(_failure);
  }

private:
  void fail(std::size_t i, std::exception_ptr failure) {
    const std::lock_guard lock(_mutex);
    _next = _count;
    if (i >= _failed) return;
    _failed = i;
    _failure = std::move(failure);
  }

  const std::size_t _count;
  const std::function<void(std::size_t)>& _body;
  std::atomic<std::size_t> _next = 0;
  std::mutex _mutex;
  std::size_t _failed = std::numeric_limits<std::size_t>::max();
  std::exception_ptr _failure;
};

} // namespace

int thread_count(int wanted) {
  return wanted > 0 ? wanted : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void for_each_parallel(std::size_t count, int threads,
                       const std::function<void(std::size_t)>& body) {
  Calls calls(count, body);
  const std::size_t helpers = std::min(count, static_cast<std::size_t>(threads));
  std::vector<std::thread> started;
  try {
    for (std::size_t i = 1; i < helpers; ++i)
      started.emplace_back([&] { calls.work(); });
  } catch (const std::system_error&) { // No more threads can be had: those there are do it.
  }
  calls.work();
  for (std::thread& thread : started)
    thread.join();
  calls.rethrow();
}

} // namespace thalweg::planner
