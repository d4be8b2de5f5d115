#include "probe/flows.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <random>
#include <set>

using namespace thalweg::probe;
using doctest::Approx;

namespace {

std::size_t site_of(const Sites& sites, HostId host) {
  for (std::size_t s = 0; s < sites.size(); ++s)
    if (std::find(sites[s].begin(), sites[s].end(), host) != sites[s].end()) return s;
  return sites.size();
}

const std::vector<Sites> examples{
    {{0, 1, 2, 3}},
    {{0, 2, 4}, {1, 3, 5}},
    {{0}, {1}, {2}},
    {{0, 1, 2}, {3, 4, 5, 6, 7}, {8}},
    {{0, 1, 2, 3, 4, 5}, {6}},
    {{0}},
};

} // namespace

TEST_CASE("every directed pair is handed out once, never two on a host or out of or into a site") {
  for (const auto& sites : examples)
    for (unsigned seed = 1; seed <= 5; ++seed) {
      std::mt19937 random(seed);
      HostId hosts = 0;
      for (const auto& site : sites)
        hosts += static_cast<HostId>(site.size());
      FlowQueue queue(sites);
      std::vector<Flow> running;
      std::set<std::pair<HostId, HostId>> seen;
      for (;;) {
        for (auto flow : queue.start()) {
          running.push_back(flow);
          CHECK(seen.emplace(flow.from, flow.to).second);
        }
        if (running.empty()) break;
        std::set<HostId> busy;
        std::set<std::pair<std::size_t, std::size_t>> pairs;
        std::set<std::size_t> leaves, enters;
        for (auto [from, to] : running) {
          CHECK(from != to);
          CHECK(busy.insert(from).second);
          CHECK(busy.insert(to).second);
          const auto s = site_of(sites, from), t = site_of(sites, to);
          CHECK(pairs.emplace(s, t).second);
          if (s == t) continue;
          CHECK(leaves.insert(s).second);
          CHECK(enters.insert(t).second);
        }
        const auto ended = running.begin() + static_cast<std::ptrdiff_t>(random() % running.size());
        queue.finish(*ended);
        running.erase(ended);
      }
      CHECK(queue.waiting() == 0);
      CHECK(seen.size() == static_cast<std::size_t>(hosts * (hosts - 1)));
    }
}

TEST_CASE("the first flows between two sites reach every host") {
  const Sites sites{{0, 1, 2}, {3, 4, 5, 6, 7}};
  FlowQueue queue(sites);
  std::set<HostId> sent, received;
  std::size_t flows = 0;
  while (flows < 2 * 5)
    for (auto flow : queue.start()) {
      if (flow.from < 3 && flow.to >= 3) ++flows, sent.insert(flow.from), received.insert(flow.to);
      queue.finish(flow);
    }
  CHECK(sent.size() == 3);
  CHECK(received.size() == 5);
}

TEST_CASE("widths let more flows run at once, and no more") {
  const Sites sites{{0, 1, 2, 3}, {4, 5, 6, 7}};
  Widths widths(2);
  widths.inside = {2, 1};
  widths.leaving = widths.entering = {3, 3};
  widths.between = {0, 3, 1, 0};
  FlowQueue queue(sites);
  queue.set_widths(widths);
  std::size_t flows = 0, most_there = 0, most_back = 0, most_inside = 0;
  for (auto running = queue.start(); !running.empty(); running = queue.start()) {
    std::size_t there = 0, back = 0, inside = 0;
    std::set<HostId> busy;
    for (auto flow : running) {
      CHECK(busy.insert(flow.from).second);
      CHECK(busy.insert(flow.to).second);
      const auto s = site_of(sites, flow.from), t = site_of(sites, flow.to);
      there += s == 0 && t == 1 ? 1 : 0;
      back += s == 1 && t == 0 ? 1 : 0;
      inside += s == 0 && t == 0 ? 1 : 0;
      queue.finish(flow);
      ++flows;
    }
    most_there = std::max(most_there, there), most_back = std::max(most_back, back);
    most_inside = std::max(most_inside, inside);
  }
  CHECK(flows == 8 * 7);
  CHECK(most_there == 3);
  CHECK(most_back == 1);
  CHECK(most_inside == 2);
}

TEST_CASE("a limit holds flows of two sites back until it is raised; one put back is the next") {
  FlowQueue queue({{0, 1, 2}});
  queue.limit(0, 0, 2);
  CHECK(queue.waiting() == 2);
  std::vector<Flow> seen;
  const auto drain = [&] {
    for (auto flows = queue.start(); !flows.empty(); flows = queue.start())
      for (auto flow : flows)
        seen.push_back(flow), queue.finish(flow);
  };
  drain();
  CHECK(seen.size() == 2);
  queue.put_back(seen.front());
  CHECK(queue.waiting() == 1);
  queue.limit(0, 0, std::numeric_limits<std::size_t>::max());
  drain();
  CHECK(seen.size() == 7);
  CHECK(seen[2] == seen.front());
}

TEST_CASE("what wasn't measured follows from the weaker end") {
  // Bandwidth = min(what the sender gives, what the receiver takes), with one weak host a site. Two
  // partners of each host are measured at either site, so at most one of them is weak.
  const Sites sites{{0, 1, 2, 3}, {4, 5, 6, 7}};
  const std::vector<double> give{4e6, 8e6, 8e6, 8e6, 8e6, 8e6, 2e6, 8e6};
  const std::vector<double> take{8e6, 8e6, 1e6, 8e6, 8e6, 3e6, 8e6, 8e6};
  Matrix<Rate> truth(8), known(8);
  for (HostId from = 0; from < 8; ++from)
    for (HostId to = 0; to < 8; ++to) {
      if (from == to) continue;
      truth(from, to) =
          Rate(std::min(give[static_cast<std::size_t>(from)], take[static_cast<std::size_t>(to)]));
      const auto shift = (to - from + 8) % 4;
      if (shift == 1 || shift == 2) known(from, to) = truth(from, to);
    }
  infer(known, sites);
  for (HostId from = 0; from < 8; ++from)
    for (HostId to = 0; to < 8; ++to)
      CHECK(known(from, to).value() == truth(from, to).value());
}

TEST_CASE("without measured flows at either end the median stands in; without any, nothing") {
  const Sites sites{{0, 1}, {2, 3}};
  Matrix<Rate> bandwidth(4);
  infer(bandwidth, sites);
  CHECK(bandwidth(0, 1).value() == 0);
  bandwidth(0, 2) = Rate(5e6);
  infer(bandwidth, sites);
  CHECK(bandwidth(1, 3).value() == 5e6);
  CHECK(bandwidth(3, 2).value() == 5e6);
}

TEST_CASE("flows that are postponed come after the others of their sites") {
  const Sites sites{{0, 1, 2, 3}, {4, 5}};
  FlowQueue queue(sites);
  const std::vector<Flow> later{{0, 1}, {2, 3}, {4, 5}};
  queue.postpone(later);
  std::vector<Flow> order;
  for (auto started = queue.start(); !started.empty(); started = queue.start())
    for (const Flow flow : started) {
      order.push_back(flow);
      queue.finish(flow);
    }
  CHECK(order.size() == 6 * 5);
  const auto place = [&](Flow flow) { return std::ranges::find(order, flow) - order.begin(); };
  for (const Flow flow : order)
    if (flow.from < 4 && flow.to < 4 && std::ranges::find(later, flow) == later.end())
      CHECK(place(flow) < std::min(place(later[0]), place(later[1])));
  CHECK(place({5, 4}) < place({4, 5}));
}
