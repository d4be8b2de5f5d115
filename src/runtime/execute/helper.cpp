#include "runtime/execute/helper.hpp"

#include "runtime/execute/no_signals.hpp"
#include "runtime/observe/clock.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <system_error>

namespace thalweg::runtime {
namespace {

constexpr std::int64_t waiting_per_pause = 16;
constexpr std::int64_t least_pause_ns = 1'000, longest_pause_ns = 1'000'000;

/// Returns how long to sleep when nothing has happened for so long; 0: not at all.
std::int64_t pause_after(std::int64_t idle_ns) {
  const std::int64_t pause_ns = idle_ns / waiting_per_pause;
  return pause_ns < least_pause_ns ? 0 : std::min(pause_ns, longest_pause_ns);
}

/// Returns the bytes of the thread's stack, which take memory only as they are used.
std::size_t stack_bytes() {
  constexpr std::size_t without_limit = std::size_t{64} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return without_limit;
  return std::max(limit.rlim_cur, static_cast<rlim_t>(PTHREAD_STACK_MIN));
}

} // namespace

Helper::Helper() {
  const NoSignals none;
  const auto begin = [](void* self) -> void* {
    static_cast<Helper*>(self)->run();
    return nullptr;
  };
  pthread_attr_t attributes{};
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes());
  const int error = pthread_create(&_thread, &attributes, begin, this);
  pthread_attr_destroy(&attributes);
  if (error != 0) throw std::system_error(error, std::generic_category());
  _runs = true;
}

void Helper::add(Lane lane, std::unique_ptr<Operation> operation) {
  std::unique_lock lock(_mutex);
  _new.emplace_back(lane, std::move(operation));
  _idle = false;
  _changed.notify_one();
  if (pthread_equal(pthread_self(), _thread) == 0) wait_until_idle(lock);
}

void Helper::hold_up_callers(std::int64_t most_ns) {
  std::unique_lock lock(_mutex);
  _most_wait_ns = most_ns;
  wait_until_idle(lock);
}

void Helper::wait_until_idle(std::unique_lock<std::mutex>& lock) {
  if (_most_wait_ns > 0)
    _became_idle.wait_for(lock, std::chrono::nanoseconds(_most_wait_ns), [this] { return _idle; });
}

void Helper::end(std::int64_t end_ns) {
  if (!_runs) return;
  {
    const std::lock_guard lock(_mutex);
    _ending = true;
    _end_ns = end_ns;
  }
  _changed.notify_one();
  pthread_join(_thread, nullptr);
  _runs = false;
}

void Helper::run() {
  pthread_setname_np(pthread_self(), "thalweg");
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); // else short pauses take 50 µs longer
  std::int64_t active_ns = 0, pause_ns = 0;
  while (take_new(pause_ns)) {
    const bool any = advance();
    const std::int64_t now_ns = observe::monotonic_ns();
    if (any) active_ns = now_ns;
    pause_ns = pause_after(now_ns - active_ns);
    if (!any && pause_ns == 0) sched_yield();
    if (!any && is_late()) break;
  }
  for (auto& [lane, operations] : _lanes)
    for (auto& operation : operations) {
      operation->abandon();
      static_cast<void>(operation.release());
    }
}

/// Waits for operations: for `pause_ns` if there are others to go on with. Returns whether there
/// are any.
bool Helper::take_new(std::int64_t pause_ns) {
  std::unique_lock lock(_mutex);
  const auto has_more = [this] { return !_new.empty(); };
  if (_lanes.empty() && !has_more()) {
    _idle = true;
    _became_idle.notify_all();
  }
  if (_lanes.empty())
    _changed.wait(lock, [&] { return _ending || has_more(); });
  else if (pause_ns > 0)
    _changed.wait_for(lock, std::chrono::nanoseconds(pause_ns), has_more);
  for (auto& [lane, operation] : _new)
    _lanes[lane].push_back(std::move(operation));
  _new.clear();
  return !_lanes.empty();
}

/// Goes on with the first operation of each lane. Returns whether anything happened.
bool Helper::advance() {
  bool any = false;
  for (auto lane = _lanes.begin(); lane != _lanes.end();) {
    auto& operations = lane->second;
    const Progress progress = operations.front()->advance();
    any |= progress != Progress::none;
    if (progress == Progress::done) operations.pop_front();
    lane = operations.empty() ? _lanes.erase(lane) : std::next(lane);
  }
  return any;
}

bool Helper::is_late() {
  const std::lock_guard lock(_mutex);
  return _ending && observe::monotonic_ns() >= _end_ns;
}

} // namespace thalweg::runtime
