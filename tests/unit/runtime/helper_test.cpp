#include "runtime/execute/helper.hpp"
#include "runtime/mpi/holds.hpp"
#include "runtime/observe/clock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <doctest/doctest.h>
#include <functional>
#include <limits>
#include <pthread.h>
#include <sys/resource.h>
#include <thread>

using namespace thalweg::runtime;

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

class FunctionStep final : public Operation {
public:
  explicit FunctionStep(std::function<Progress()> step) : _step(std::move(step)) {}
  Progress advance() override { return _step(); }

private:
  std::function<Progress()> _step;
};

void add(Helper& helper, Helper::Lane lane, std::function<Progress()> step) {
  helper.add(lane, std::make_unique<FunctionStep>(std::move(step)));
}

} // namespace

TEST_CASE("operations of a lane follow each other in their order") {
  Helper helper;
  std::array<std::vector<int>, 3> order;
  for (int i = 0; i < 300; ++i) {
    auto& done = order[static_cast<std::size_t>(i % 3)];
    add(helper, i % 3, [&done, i, left = i % 5]() mutable {
      if (left-- > 0) return left % 2 == 0 ? Progress::none : Progress::some;
      done.push_back(i);
      return Progress::done;
    });
  }
  helper.end(never);
  for (int lane = 0; lane < 3; ++lane) {
    std::vector<int> expected;
    for (int i = lane; i < 300; i += 3)
      expected.push_back(i);
    CHECK(order[static_cast<std::size_t>(lane)] == expected);
  }
}

TEST_CASE("the thread has as much stack as the main thread may have") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_STACK, &before) == 0);
  constexpr rlim_t wanted = rlim_t{40} << 20;
  const rlimit larger{std::min(wanted, before.rlim_max), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_STACK, &larger) == 0);
  Helper helper;
  CHECK(setrlimit(RLIMIT_STACK, &before) == 0);
  std::size_t stack = 0;
  add(helper, 0, [&stack] {
    pthread_attr_t attributes{};
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &stack);
    pthread_attr_destroy(&attributes);
    return Progress::done;
  });
  helper.end(never);
  CHECK(stack >= larger.rlim_cur);
}

TEST_CASE("callers that are held up return when all operations are done") {
  Helper helper;
  std::atomic<int> done{0};
  const auto later = [&done, left = 1000]() mutable {
    if (left-- > 0) return Progress::some;
    ++done;
    return Progress::done;
  };
  add(helper, 1, later);
  add(helper, 2, later);
  helper.hold_up_callers(60'000'000'000);
  CHECK(done == 2);
  add(helper, 1, [&] { // operations of their own don't wait for themselves
    add(helper, 2, later);
    return Progress::done;
  });
  CHECK(done == 3);
  add(helper, 3, later);
  CHECK(done == 4);
  helper.end(never);
}

TEST_CASE("an operation that waits doesn't hold up other lanes") {
  Helper helper;
  std::atomic<bool> go{false};
  const auto waits = [&] { return go ? Progress::done : Progress::none; };
  const auto goes = [&] {
    go = true;
    return Progress::done;
  };
  add(helper, 1, waits);
  add(helper, 0, waits);
  add(helper, 2, goes);
  helper.end(never);
  CHECK(go);
}

TEST_CASE("a sleeping helper wakes for an operation, which may add another") {
  Helper helper;
  std::atomic<int> done{0};
  for (int round = 1; round <= 20; ++round) {
    add(helper, round, [&] {
      add(helper, 0, [&] {
        ++done;
        return Progress::done;
      });
      return Progress::done;
    });
    while (done < round)
      std::this_thread::yield();
  }
  add(helper, 0, [&] {
    add(helper, 1, [&] {
      ++done;
      return Progress::done;
    });
    return Progress::done;
  });
  helper.end(never);
  CHECK(done == 21);
}

TEST_CASE("what never ends is abandoned at the end") {
  std::atomic<int> tries{0};
  auto step = std::make_unique<FunctionStep>([&tries] {
    ++tries;
    return Progress::none;
  });
  FunctionStep* const abandoned = step.get();
  Helper helper;
  helper.add(0, std::move(step));
  while (tries == 0)
    std::this_thread::yield();
  helper.end(observe::monotonic_ns() + 1'000'000);
  const int last = tries;
  helper.end(never);
  CHECK(tries == last);
  delete abandoned; // which the helper leaves alone, since it may still be used
}

TEST_CASE("what the program frees is freed by the last operation that uses it") {
  Holds<int> holds;
  CHECK_FALSE(holds.defer(7));
  holds.hold(7);
  CHECK_FALSE(holds.release(7));
  holds.hold(7);
  holds.hold(7);
  holds.hold(8);
  CHECK(holds.defer(7));
  CHECK_FALSE(holds.release(7));
  CHECK(holds.release(7));
  CHECK_FALSE(holds.release(8));
  CHECK_FALSE(holds.defer(7));
}
