#include "runtime/setup/plan.hpp"

#include "network/host_names.hpp"
#include "planner/bytes.hpp"
#include "runtime/choose/plan_copy.hpp"
#include "runtime/mpi/process.hpp"
#include "runtime/setup/agreement.hpp"
#include "runtime/setup/hosts.hpp"
#include "runtime/setup/runtime.hpp"
#include "runtime/setup/share.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

namespace thalweg::runtime {
namespace {

/// @throws std::invalid_argument naming the file, which is rank 0's
planner::PlanFile parse(const Settings& settings, const std::string& content) {
  try {
    return planner::from_bytes(std::as_bytes(std::span(content)));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(about_plan(settings.plan_path, error.what()));
  }
}

/// Returns the host names of all ranks.
std::vector<std::string> gather_host_names(int ranks) {
  const std::string name = host_name();
  const int size = static_cast<int>(name.size()) + 1;
  int longest = 0;
  native.Allreduce(&size, &longest, 1, native.integer, native.max, native.comm_world);
  std::string own = name;
  own.resize(index(longest));
  std::vector<char> all(own.size() * index(ranks));
  native.Allgather(own.data(), longest, native.byte, all.data(), longest, native.byte,
                   native.comm_world);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all.size(); at += own.size())
    names.emplace_back(all.data() + at);
  return names;
}

/// Returns the first table of the plan for as many ranks; null if there is none.
const planner::Table* table_of_world(const Runtime& it) {
  const auto found = std::ranges::find_if(it.plan.tables, [&](const planner::Table& table) {
    return std::cmp_equal(table.placement.size(), it.world_size);
  });
  return found == it.plan.tables.end() ? nullptr : &*found;
}

std::string own_name(const Runtime& it) {
  const auto& assumed = it.settings.assume_hosts;
  return assumed.empty() ? host_name()
                         : assumed_names(assumed, it.world_size)[index(it.world_rank)];
}

/// Whether this rank is on the host where that table has it.
bool is_in_place(const Runtime& it) {
  const planner::Table* const table = table_of_world(it);
  if (table == nullptr) return false;
  const std::string own = own_name(it);
  return place({&own, 1}, it.plan.network).front() == table->placement[index(it.world_rank)];
}

std::vector<std::string> names_in(const network::Network& network,
                                  const network::Placement& placement) {
  std::vector<std::string> names;
  for (const network::HostId host : placement)
    names.push_back(network.hosts[index(host)].name);
  return names;
}

/// Returns whether something is so on all ranks. Collective.
bool on_all_ranks(bool own) {
  const int mine = own ? 1 : 0;
  int all = 0;
  native.Allreduce(&mine, &all, 1, native.integer, native.min, native.comm_world);
  return all != 0;
}

/// Gives all ranks the plan. Returns whether they are where its table has them.
bool share_plan(Runtime& it, const Agreement& agreement) {
  if (!agreement.have_plan) {
    std::string bytes = it.settings.plan;
    share(bytes, native.comm_world);
    if (it.world_rank != 0) it.plan = parse(it.settings, bytes);
  }
  // Rank 0 keeps it for a run record.
  if (it.settings.record.empty()) it.settings.plan = {};
  // What ranks told each other is of the plans that they had, and of their own hosts' names.
  if (agreement.have_plan && it.settings.assume_hosts.empty()) return agreement.are_in_place;
  return on_all_ranks(is_in_place(it));
}

} // namespace

std::string open_plan(Runtime& it, Settings& settings) {
  if (is_switched_off()) return {};
  if (it.world_rank != 0) {
    const char* const path = std::getenv("THALWEG_PLAN");
    std::optional<PlanCopy> copy = local_copy(path != nullptr ? path : "");
    if (!copy) return {};
    it.plan = std::move(copy->plan);
    return copy->seal;
  }
  try {
    if (!settings.plan_seal.empty()) it.plan = parse(settings, settings.plan);
  } catch (const std::invalid_argument& error) {
    settings.problem = error.what();
    settings.plan_seal.clear();
  }
  return settings.plan_seal;
}

void tell_plan(const Runtime& it, const std::string& seal, AgreementRecord& record) {
  if (seal.empty()) return;
  record.plan = planner::checksum(std::as_bytes(std::span(seal)));
  record.is_in_place = is_in_place(it);
}

void name_hosts(Runtime& it) {
  const auto& assumed = it.settings.assume_hosts;
  if (!it.host_names.empty()) return;
  if (!assumed.empty())
    it.host_names = assumed_names(assumed, it.world_size);
  else if (it.world_size == 1)
    it.host_names = {host_name()};
  else if (!it.hosts.empty())
    it.host_names = names_in(it.plan.network, it.hosts);
  else
    it.host_names = gather_host_names(it.world_size);
}

void read_plan(Runtime& it, const Agreement& agreement) {
  it.force = parse_force(it.settings.force);
  it.ever_forced = it.force.names_algorithms();
  if (it.has_tables() && share_plan(it, agreement)) {
    it.hosts = table_of_world(it)->placement;
    return;
  }
  name_hosts(it);
  const std::vector<std::string>& names = it.host_names;
  if (!it.has_tables()) it.plan.network = assumed_network(names);
  it.hosts = place(names, it.plan.network);
}

} // namespace thalweg::runtime
