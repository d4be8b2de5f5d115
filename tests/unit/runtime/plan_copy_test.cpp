#include "runtime/choose/plan_copy.hpp"
#include "unit/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <string>
#include <sys/stat.h>

namespace thalweg::runtime {
namespace {

std::string plan_of(network::HostId hosts) {
  planner::PlanFile plan;
  plan.network = network::even_network(hosts, units::Time(1e-4), units::Rate(1e9));
  plan.library = "mpich";
  const auto bytes = planner::to_bytes(plan);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("a plan file on a rank's own machine is taken if it is whole, and is told from others") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path + "/plan", plan = plan_of(3);
  const auto copy = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    return local_copy(path);
  };
  CHECK_FALSE(local_copy(path));
  CHECK_FALSE(local_copy(""));
  REQUIRE(copy(plan));
  CHECK(copy(plan)->plan.network.size() == 3);
  CHECK(copy(plan)->seal == seal_of(plan));
  REQUIRE(copy(plan_of(2)));
  CHECK(copy(plan_of(2))->seal != seal_of(plan));
  CHECK_FALSE(copy(""));
  CHECK_FALSE(copy(plan.substr(0, plan.size() - 1)));
  CHECK_FALSE(copy(plan + "x"));
  std::string altered = plan;
  altered.back() = static_cast<char>(altered.back() ^ 1);
  CHECK_FALSE(copy(altered));
}

TEST_CASE("what is no file on this machine isn't waited for") {
  const testing::TemporaryFolder folder;
  const std::string pipe = folder.path + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_FALSE(local_copy(pipe));
  CHECK_FALSE(local_copy(folder.path));
  CHECK_FALSE(local_copy("/proc/self/stat"));
}

} // namespace
} // namespace thalweg::runtime
