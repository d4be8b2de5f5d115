#include "runtime/observe/core_time.hpp"

#include <algorithm>
#include <sys/resource.h>

namespace thalweg::runtime::observe {
namespace {

constexpr Ticks longest_ago = Ticks{1} << 18;

std::int64_t nanoseconds(const timeval& time) {
  return (std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec) * 1000;
}

} // namespace

CoreTime CoreTime::lately(Ticks now) {
  static thread_local Ticks read_at = now - longest_ago - 1;
  static thread_local CoreTime last;
  if (now - read_at <= longest_ago) return last;
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return {};
  read_at = now;
  last = {.thread = &last,
          .at_ns = monotonic_ns(),
          .on_core_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
          .put_aside = usage.ru_nivcsw};
  return last;
}

std::int64_t CoreTime::off_core_ns(const CoreTime& begin) const {
  if (thread == nullptr || thread != begin.thread || put_aside == begin.put_aside) return 0;
  return std::max<std::int64_t>(at_ns - begin.at_ns - (on_core_ns - begin.on_core_ns), 0);
}

} // namespace thalweg::runtime::observe
