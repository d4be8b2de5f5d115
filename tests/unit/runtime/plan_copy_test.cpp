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

TEST_CASE("a copy of rank 0's plan file is taken if it is the same, and whole") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path + "/plan", plan = plan_of(3), seal = seal_of(plan);
  const auto copy = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    return local_copy(path, seal);
  };
  CHECK_FALSE(local_copy(path, seal));
  REQUIRE(copy(plan));
  CHECK(copy(plan)->network.size() == 3);
  CHECK_FALSE(copy(plan_of(2)));
  CHECK_FALSE(copy(""));
  CHECK_FALSE(copy(plan.substr(0, plan.size() - 1)));
  CHECK_FALSE(copy(plan + "x"));
  std::string altered = plan;
  altered.back() = static_cast<char>(altered.back() ^ 1);
  CHECK_FALSE(copy(altered));
}

TEST_CASE("what is no file on this machine isn't waited for") {
  const testing::TemporaryFolder folder;
  const std::string pipe = folder.path + "/pipe", seal = seal_of(plan_of(2));
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_FALSE(local_copy(pipe, seal));
  CHECK_FALSE(local_copy(folder.path, seal));
  CHECK_FALSE(local_copy("/proc/self/stat", seal));
}

} // namespace
} // namespace thalweg::runtime
