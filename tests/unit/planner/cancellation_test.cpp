#include "networks.hpp"
#include "planner/search.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <functional>

namespace thalweg::planner {

namespace {

using namespace testing;

/// Cancels planning when it asks for the `most`-th time; 0: never.
struct Canceller {
  int most = 0, asked = 0;
  bool is_cancelled() { return ++asked == most; }
};

/// Options of planning by one thread, which always asks in the same order.
PlanOptions asking(Canceller& canceller, Effort effort = Effort::normal) {
  PlanOptions options = openmpi();
  options.threads = 1;
  options.effort = effort;
  options.budget = 0.01;
  options.is_cancelled = [&canceller] { return canceller.is_cancelled(); };
  return options;
}

/// Checks that `make` ends at the very question that cancels it, whichever that is.
/// @param questions that it asks if none does
void check_every_question(int questions, const std::function<void(Canceller&)>& make) {
  REQUIRE(questions > 0);
  const int step = std::max(1, questions / test::share_of(40, 10));
  for (int most = 1; most <= questions; most += step) {
    Canceller canceller{.most = most};
    CAPTURE(most);
    CHECK_THROWS_AS(make(canceller), Cancelled);
    CHECK(canceller.asked == most);
  }
}

} // namespace

TEST_CASE("cancelled at any question, planning a problem makes no plan and asks no more") {
  const Network net = two_sites(3);
  const Problem wanted = problem(net, Kind::allreduce, 300'000);
  for (const Effort effort : {Effort::estimate, Effort::normal, Effort::patient}) {
    const auto make = [&](Canceller& canceller) { explain(wanted, asking(canceller, effort)); };
    Canceller never;
    make(never);
    check_every_question(never.asked, make);
  }
}

TEST_CASE("cancelled at any question, planning a table makes no table and asks no more") {
  const Network net = with_native(two_sites(2), Time(0.1));
  const Placement placement = one_each(net.size());
  const auto make = [&](Canceller& canceller) { quick_table(net, placement, asking(canceller)); };
  Canceller never;
  make(never);
  check_every_question(never.asked, make);
}

TEST_CASE("planning that isn't cancelled finds the same as without a question") {
  const Network net = with_slow_native(two_sites(3));
  const Placement placement = one_each(net.size());
  const Problem wanted = problem(net, Kind::bcast, 100'000);
  Canceller never;
  const PlanOptions asked = asking(never);
  PlanOptions unasked = asked;
  unasked.is_cancelled = nullptr;
  const Explanation found = explain(wanted, asked), usual = explain(wanted, unasked);
  CHECK(never.asked > static_cast<int>(found.candidates.size())); // before each of them at least
  CHECK(found.plan.skeleton == usual.plan.skeleton);
  CHECK(found.plan.predicted == usual.plan.predicted);
  CHECK(found.plan.reason == usual.plan.reason);
  CHECK(found.candidates.size() == usual.candidates.size());
  CHECK(quick_table(net, placement, asked) == quick_table(net, placement, unasked));
}

TEST_CASE("a search that is cancelled ends between two changes") {
  const Network net = two_sites(3);
  const Problem wanted = problem(net, Kind::bcast, 1'000'000);
  const algorithms::Algorithm& binomial = algorithms::find("binomial");
  const Skeleton start =
      algorithms::make_skeleton(binomial, wanted, binomial.candidates(wanted).front());
  Canceller canceller{.most = 10};
  Climb options;
  options.messages = 1'000'000;
  options.fast.fidelity = simulator::Fidelity::fast;
  options.is_cancelled = [&canceller] { return canceller.is_cancelled(); };
  CHECK_THROWS_AS(climb(wanted, start, options), Cancelled);
  CHECK(canceller.asked == 10);
}

} // namespace thalweg::planner
