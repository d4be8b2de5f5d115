#include "runtime/setup/communicator.hpp"

#include "runtime/mpi/process.hpp"
#include "runtime/observe/clock.hpp"
#include "runtime/setup/runtime.hpp"
#include "runtime/setup/share.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <exception>

namespace thalweg::runtime {
namespace {

/// Returns the world ranks of a communicator's members; empty if one isn't in COMM_WORLD.
std::vector<int> world_ranks(MPI_Comm comm) {
  MPI_Group world{}, group{};
  native.Comm_group(native.comm_world, &world);
  native.Comm_group(comm, &group);
  int size = 0;
  native.Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size)), result(ranks.size());
  for (int rank = 0; rank < size; ++rank)
    ranks[static_cast<std::size_t>(rank)] = rank;
  native.Group_translate_ranks(group, size, ranks.data(), world, result.data());
  native.Group_free(&group);
  native.Group_free(&world);
  if (std::ranges::find(result, MPI_UNDEFINED) != result.end()) result.clear();
  return result;
}

/// For acknowledgements at the end of the program, which an error may have lost.
constexpr std::int64_t longest_settling_ns = 5'000'000'000;

int no_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

} // namespace

Communicator* Communicators::find(MPI_Comm comm) {
  const std::lock_guard lock(_mutex);
  const auto found = _communicators.find(comm);
  return found != _communicators.end() ? found->second.get() : nullptr;
}

Communicator& Communicators::insert(MPI_Comm comm, std::unique_ptr<Communicator> communicator) {
  const std::lock_guard lock(_mutex);
  auto& place = _communicators[comm];
  place = std::move(communicator);
  return *place;
}

void Communicators::erase(MPI_Comm comm) {
  const std::lock_guard lock(_mutex);
  const auto found = _communicators.find(comm);
  if (found == _communicators.end()) return;
  _tags.erase(found->second->tag);
  const auto accounts = std::move(found->second->accounts);
  if (accounts != nullptr && accounts != _shared) _retired.push_back(accounts);
  std::erase_if(_retired, [](const auto& retired) { return retired->take_all(); });
  _communicators.erase(found);
}

void Communicators::settle() {
  const std::int64_t end_ns = observe::monotonic_ns() + longest_settling_ns;
  for (const auto& [comm, communicator] : _communicators)
    if (communicator->accounts != nullptr) communicator->accounts->settle(end_ns);
  for (const auto& retired : _retired)
    retired->settle(end_ns);
}

std::shared_ptr<Accounts> Communicators::make_accounts(int tag, const Runtime& runtime) const {
  if (_shared != nullptr && !runtime.multiple_threads) return _shared;
  const auto limit_of = [&runtime](int rank) {
    const auto own = runtime.hosts[index(runtime.world_rank)], other = runtime.hosts[index(rank)];
    const network::Network& network = runtime.plan.network;
    return CreditLimit::of_path(network.latency(own, other).value(),
                                network.bandwidth(own, other).value());
  };
  return std::make_shared<Accounts>(runtime.shadow, acknowledgement_tag(tag), limit_of);
}

int Communicators::on_delete(MPI_Comm comm, int, void* value, void*) {
  static_cast<Communicators*>(value)->erase(comm);
  return MPI_SUCCESS;
}

void Communicators::add_world(Runtime& runtime) {
  // The attribute's value is this registry, so that the callback finds it.
  native.Comm_create_keyval(no_copy, on_delete, &_keyval, nullptr);
  auto self = std::make_unique<Communicator>();
  self->reason = Reason::single_rank;
  self->world_ranks = {runtime.world_rank};
  insert(native.comm_self, std::move(self));
  auto world = std::make_unique<Communicator>();
  world->rank = runtime.world_rank;
  world->size = runtime.world_size;
  world->world_ranks = world_ranks(native.comm_world);
  world->tag = 0;
  world->reason = runtime.reason;
  if (runtime.active()) {
    const bool lacking = runtime.has_tables() && known_table(runtime.hosts, runtime) == nullptr;
    choose_plans(native.comm_world, *world, runtime.hosts, lacking, runtime);
  }
  if (runtime.active()) world->accounts = _shared = make_accounts(0, runtime);
  insert(native.comm_world, std::move(world));
}

void Communicators::free_keyval() {
  if (_keyval != MPI_KEYVAL_INVALID) native.Comm_free_keyval(&_keyval);
}

std::unique_ptr<Communicator> Communicators::describe(MPI_Comm comm, const Runtime& runtime) const {
  auto result = std::make_unique<Communicator>();
  int inter = 0;
  native.Comm_rank(comm, &result->rank);
  native.Comm_size(comm, &result->size);
  native.Comm_test_inter(comm, &inter);
  if (inter != 0) {
    result->reason = Reason::intercommunicator;
    return result;
  }
  result->world_ranks = world_ranks(comm);
  const auto host = [&](int rank) { return runtime.hosts[static_cast<std::size_t>(rank)]; };
  if (!runtime.active())
    result->reason = runtime.reason;
  else if (result->size == 1)
    result->reason = Reason::single_rank;
  else if (result->world_ranks.empty())
    result->reason = Reason::not_in_world;
  else if (std::ranges::all_of(result->world_ranks, [&](int rank) {
             return host(rank) == host(result->world_ranks.front());
           }))
    result->reason = Reason::single_host;
  return result;
}

Communicator& Communicators::set_up(MPI_Comm comm, Runtime& runtime) {
  if (Communicator* known = find(comm)) return *known;
  auto communicator = describe(comm, runtime);
  if (!communicator->reason) agree(comm, *communicator, runtime);
  Communicator& result = insert(comm, std::move(communicator));
  native.Comm_set_attr(comm, _keyval, this);
  return result;
}

void Communicators::agree(MPI_Comm comm, Communicator& communicator, Runtime& runtime) {
  network::Placement placement;
  for (const int rank : communicator.world_ranks)
    placement.push_back(runtime.hosts[static_cast<std::size_t>(rank)]);
  std::array<std::int64_t, 2> most{}; // tag, whether the table is lacking
  for (bool agreed = false; !agreed;) {
    const std::array<std::int64_t, 2> mine = {
        propose_tag(), runtime.has_tables() && known_table(placement, runtime) == nullptr};
    native.Allreduce(mine.data(), most.data(), 2, native.int64, native.max, comm);
    communicator.tag = static_cast<int>(most[0]);
    agreed = claim_tag(communicator.tag);
    if (!runtime.multiple_threads) break; // set-ups come in the same order on any two ranks
    // Concurrent set-ups may have agreed on the same tag.
    const int claimed = agreed ? 1 : 0;
    int all_claimed = 0;
    native.Allreduce(&claimed, &all_claimed, 1, native.integer, native.min, comm);
    if (agreed && all_claimed == 0) release_tag(communicator.tag);
    agreed = all_claimed != 0;
  }
  if (acknowledgement_tag(communicator.tag) > runtime.largest_tag) {
    communicator.tag = -1;
    communicator.reason = Reason::tags_exhausted;
    return;
  }
  communicator.accounts = make_accounts(communicator.tag, runtime);
  choose_plans(comm, communicator, std::move(placement), most[1] != 0, runtime);
}

void Communicators::choose_plans(MPI_Comm comm, Communicator& communicator,
                                 network::Placement placement, bool lacking, Runtime& runtime) {
  std::shared_ptr<const planner::Table> plans;
  if (runtime.has_tables()) plans = table(comm, placement, lacking, runtime);
  communicator.chooser.emplace(runtime.plan.network, runtime.plan.library, std::move(placement),
                               communicator.rank, std::move(plans));
}

std::shared_ptr<const planner::Table>
Communicators::known_table(const network::Placement& placement, const Runtime& runtime) {
  for (const planner::Table& table : runtime.plan.tables)
    if (table.placement == placement) return {std::shared_ptr<void>(), &table};
  const std::lock_guard lock(_mutex);
  for (const auto& table : _tables)
    if (table->placement == placement) return table;
  return nullptr;
}

/// Returns the table for a placement; if a member lacks it, the first rank plans for all.
std::shared_ptr<const planner::Table> Communicators::table(MPI_Comm comm,
                                                           const network::Placement& placement,
                                                           bool lacking, Runtime& runtime) {
  auto known = known_table(placement, runtime);
  if (!lacking) return known;
  int rank = 0;
  native.Comm_rank(comm, &rank);
  std::string bytes;
  if (rank == 0) {
    try {
      planner::PlanOptions options;
      options.library = runtime.plan.library;
      const auto made =
          planner::to_bytes(planner::quick_table(runtime.plan.network, placement, options));
      bytes.assign(reinterpret_cast<const char*>(made.data()), made.size());
    } catch (const std::exception& error) {
      say(std::string("can't plan for a communicator: ") + error.what());
    }
  }
  share(bytes, comm);
  if (known != nullptr) return known;
  auto table = std::make_shared<planner::Table>();
  if (!bytes.empty()) *table = planner::table_from_bytes(std::as_bytes(std::span(bytes)));
  table->placement = placement;
  const std::lock_guard lock(_mutex);
  return _tables.emplace_back(std::move(table));
}

int Communicators::propose_tag() {
  const std::lock_guard lock(_mutex);
  return _next_tag++;
}

bool Communicators::claim_tag(int tag) {
  const std::lock_guard lock(_mutex);
  _next_tag = std::max(_next_tag, tag + 1);
  return _tags.insert(tag).second;
}

void Communicators::release_tag(int tag) {
  const std::lock_guard lock(_mutex);
  _tags.erase(tag);
}

} // namespace thalweg::runtime
