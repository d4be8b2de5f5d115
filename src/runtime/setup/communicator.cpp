#include "runtime/setup/communicator.hpp"

#include "runtime/adapt/change_report.hpp"
#include "runtime/adapt/report.hpp"
#include "runtime/execute/own_arithmetic.hpp"
#include "runtime/mpi/error.hpp"
#include "runtime/observe/clock.hpp"
#include "runtime/setup/runtime.hpp"
#include "runtime/setup/share.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace thalweg::runtime {
namespace {

std::vector<int> first_numbers(int count) {
  std::vector<int> numbers(index(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Whether a communicator has the ranks of COMM_WORLD in their order.
bool is_like_world(MPI_Comm comm) {
  int result = MPI_UNEQUAL;
  native.Comm_compare(comm, native.comm_world, &result);
  return result == MPI_IDENT || result == MPI_CONGRUENT;
}

} // namespace

std::vector<int> world_ranks_of(MPI_Comm comm) {
  int is_inter = 0;
  native.Comm_test_inter(comm, &is_inter);
  if (is_inter == 0 && is_like_world(comm)) {
    int size = 0;
    native.Comm_size(comm, &size);
    return first_numbers(size);
  }
  MPI_Group group{};
  (is_inter != 0 ? native.Comm_remote_group : native.Comm_group)(comm, &group);
  return take_world_ranks(group);
}

std::vector<int> take_world_ranks(MPI_Group group) {
  MPI_Group world{};
  int size = 0;
  native.Comm_group(native.comm_world, &world);
  native.Group_size(group, &size);
  const std::vector<int> ranks = first_numbers(size);
  std::vector<int> result(ranks.size());
  native.Group_translate_ranks(group, size, ranks.data(), world, result.data());
  native.Group_free(&group);
  native.Group_free(&world);
  return result;
}

namespace {

/// The most reports of a kind on communicators that are gone.
constexpr std::size_t most_ended_reports = 256;

/// Returns the world ranks of a communicator's members, but of no intercommunicator's; empty if one
/// isn't in COMM_WORLD. In recorded runs calls and messages share what was found.
std::vector<int> members_of(MPI_Comm comm, const Runtime& runtime) {
  std::vector<int> ranks =
      runtime.record ? runtime.record->destinations.world_ranks(comm) : world_ranks_of(comm);
  const auto is_outside = [&](int rank) { return rank < 0 || rank >= runtime.world_size; };
  if (std::ranges::any_of(ranks, is_outside)) ranks.clear();
  return ranks;
}

/// Whether a communicator's members are COMM_WORLD's, in their order. The same on all ranks.
bool has_all_in_order(const Communicator& communicator, const Runtime& runtime) {
  return std::ssize(communicator.world_ranks) == runtime.world_size &&
         std::ranges::is_sorted(communicator.world_ranks);
}

/// Returns null where plans don't follow the network. The same on all ranks.
std::unique_ptr<Replanner> make_replanner(const Communicator& communicator, const Runtime& runtime,
                                          const network::Placement& placement) {
  if (!runtime.settings.adapt) return nullptr;
  const std::set<network::HostId> hosts(placement.begin(), placement.end());
  if (hosts.size() < 2 || !Replanner::follows(hosts.size(), runtime.plan.network)) return nullptr;
  return std::make_unique<Replanner>(runtime.plan.network, runtime.plan.library, placement,
                                     communicator.rank);
}

/// Returns null where calls don't race. The same on all ranks. The results of earlier runs are
/// those of communicators with COMM_WORLD's members in their order.
/// @param table may be null
std::unique_ptr<Adaptation> make_adaptation(const Communicator& communicator,
                                            const Runtime& runtime,
                                            const network::Placement& placement,
                                            const planner::Table* table) {
  if (!runtime.settings.race || table == nullptr || table->entries.empty()) return nullptr;
  std::vector<Won> won;
  if (has_all_in_order(communicator, runtime)) won = parse_raced(runtime.settings.raced);
  const auto* const clock = runtime.settings.observes() ? &runtime.observation.clock : nullptr;
  return std::make_unique<Adaptation>(communicator.rank, std::move(won), clock,
                                      make_replanner(communicator, runtime, placement));
}

std::vector<std::string> changes_of(const Communicator& communicator) {
  const Adaptation* const adaptation = communicator.adaptation.get();
  if (adaptation == nullptr || adaptation->replanner() == nullptr) return {};
  const Replanner& replanner = *adaptation->replanner();
  return reports(replanner.attempts(), replanner.network(), communicator.size,
                 communicator.leader(), communicator.number);
}

std::vector<std::string> reports_of(const Communicator& communicator) {
  if (communicator.adaptation == nullptr) return {};
  return reports(communicator.adaptation->races(), communicator.chooser->table().get(),
                 communicator.size, communicator.leader());
}

/// Keeps the reports that `make` returns, as far as there is room for them. Returns how many.
template <class Make>
std::size_t keep(std::vector<std::string>& ended, const Make& make) {
  const std::size_t before = ended.size();
  if (before >= most_ended_reports) return 0; // of thousands of communicators none is made
  for (std::string& report : make())
    if (ended.size() < most_ended_reports) ended.push_back(std::move(report));
  return ended.size() - before;
}

void sum_up(ByCandidate<std::uint64_t>& sums, const ByCandidate<std::uint64_t>& more) {
  for (const Candidate each : all_candidates)
    sums[each] += more[each];
}

} // namespace

void Communicator::end() {
  if (negotiation != nullptr) negotiation->end();
  if (adaptation != nullptr) adaptation->end();
  if (neighborhoods != nullptr) neighborhoods->end();
}

void Communicator::describe(MPI_Comm comm, const Runtime& runtime) {
  world_ranks = members_of(comm, runtime);
  const auto host = [&](int world_rank) { return runtime.hosts[index(world_rank)]; };
  if (world_ranks.empty())
    reason = Reason::not_in_world;
  else if (!runtime.plans_within_hosts() && std::ranges::all_of(world_ranks, [&](int world_rank) {
             return host(world_rank) == host(world_ranks.front());
           }))
    reason = Reason::single_host;
}

void Communicator::enable(network::Placement placement, std::shared_ptr<const planner::Table> table,
                          Runtime& runtime) {
  reason.reset();
  adaptation = make_adaptation(*this, runtime, placement, table.get());
  if (accounts == nullptr) accounts = runtime.communicators.accounts(number_for_tags, runtime);
  chooser.emplace(runtime.plan.network, runtime.plan.library, std::move(placement), rank,
                  std::move(table), runtime.settings.reproducible);
  if (runtime.helper != nullptr && Stream::has_tags(*number_for_tags, runtime))
    stream = std::make_shared<Stream>(number_for_tags, world_ranks, runtime);
}

void Communicator::note(MPI_Comm comm, const Runtime& runtime) {
  if (!runtime.settings.observes()) return;
  const std::vector<int> ranks = world_ranks.empty() ? members_of(comm, runtime) : world_ranks;
  if (ranks.empty()) return;
  members = observe::members_hash(ranks);
  if (!runtime.record) return;
  observe::CommunicatorEntry entry;
  entry.members = members;
  entry.rank = rank;
  entry.ranks = size;
  entry.leader = ranks.front();
  runtime.record->calls.add(entry);
}

void Communicator::enable_at_once(MPI_Comm comm, Runtime& runtime) {
  describe(comm, runtime);
  if (reason != Reason::not_set_up) return;
  network::Placement placement;
  for (const int world_rank : world_ranks)
    placement.push_back(runtime.hosts[index(world_rank)]);
  // All ranks know the same tables of the plan file.
  auto table = runtime.tables.known(placement, runtime.plan).table;
  enable(std::move(placement), std::move(table), runtime);
}

Communicator* Communicators::add(MPI_Comm comm, Runtime& runtime) {
  if (comm == native.comm_null || has_thread_ranks(comm)) return nullptr;
  const OwnArithmetic arithmetic;
  auto made = std::make_unique<Communicator>();
  made->number = ++_met;
  int inter = 0;
  native.Comm_rank(comm, &made->rank);
  native.Comm_size(comm, &made->size);
  native.Comm_test_inter(comm, &inter);
  if (inter != 0)
    made->reason = Reason::intercommunicator;
  else if (!runtime.active())
    made->reason = runtime.reason;
  else if (made->size == 1)
    made->reason = Reason::single_rank;
  else
    made->reason = Reason::not_set_up;
  if (made->reason == Reason::not_set_up && runtime.settings.reproducible &&
      !runtime.multiple_threads)
    made->enable_at_once(comm, runtime);
  if (made->reason == Reason::not_set_up)
    made->negotiation = std::make_unique<Negotiation>(comm, *made, runtime);
  if (inter == 0) made->note(comm, runtime);
  const auto [result, is_new] = _communicators.add(comm, std::move(made));
  if (is_new) native.Comm_set_attr(comm, _keyval, this);
  return &result;
}

void Communicators::leave(MPI_Comm comm) {
  Communicator* const communicator = find(comm);
  if (communicator != nullptr) communicator->end();
}

void Communicators::erase(MPI_Comm comm) {
  const std::unique_ptr<Communicator> gone = _communicators.take(comm);
  if (gone == nullptr) return;
  std::vector<std::shared_ptr<Accounts>> retired = take_retired();
  if (gone->accounts != nullptr && gone->accounts != _shared) retired.push_back(gone->accounts);
  std::erase_if(retired, [](const auto& accounts) { return accounts->take_all(); });
  {
    const std::lock_guard lock(_mutex);
    _retired.insert(_retired.end(), retired.begin(), retired.end());
    if (gone->leader() == 0 && gone->rank == 0) {
      const std::size_t kept = keep(_ended_races, [&] { return reports_of(*gone); });
      if (gone->adaptation != nullptr)
        sum_up(_more_ended_races, more_races(gone->adaptation->races(), kept));
      keep(_ended_changes, [&] { return changes_of(*gone); });
    }
  }
  gone->end();
}

/// Takes the accounts of communicators that are gone, since the MPI library may call on_delete()
/// for another one while it tests for their messages.
std::vector<std::shared_ptr<Accounts>> Communicators::take_retired() {
  const std::lock_guard lock(_mutex);
  return std::exchange(_retired, {});
}

int Communicators::on_delete(MPI_Comm comm, int, void* value, void*) {
  return code_of([&] { static_cast<Communicators*>(value)->erase(comm); });
}

void Communicators::add_world(Runtime& runtime) {
  // The attribute's value is this registry, so that the callback finds it.
  native.Comm_create_keyval(no_copy, on_delete, &_keyval, nullptr);
  auto self = std::make_unique<Communicator>();
  self->reason = Reason::single_rank;
  self->world_ranks = {runtime.world_rank};
  self->note(native.comm_self, runtime);
  _communicators.add(native.comm_self, std::move(self));
  auto world = std::make_unique<Communicator>();
  world->rank = runtime.world_rank;
  world->size = runtime.world_size;
  world->world_ranks = first_numbers(runtime.world_size);
  world->name = 0;
  world->number_for_tags = _tags.claim(0);
  world->reason = runtime.reason;
  world->note(native.comm_world, runtime);
  if (runtime.active()) {
    auto table = runtime.tables.known(runtime.hosts, runtime.plan).table;
    if (table == nullptr && runtime.has_tables() && !runtime.on_one_host()) {
      std::string bytes;
      if (runtime.world_rank == 0) bytes = Tables::make(runtime.hosts, runtime.plan);
      share(bytes, native.comm_world);
      table = runtime.tables.add(runtime.hosts, bytes, 0);
    }
    world->enable(runtime.hosts, std::move(table), runtime);
  }
  _communicators.add(native.comm_world, std::move(world));
}

Accounts::LimitOf Communicators::limits(const Runtime& runtime) {
  return [&runtime](int rank) {
    const auto own = runtime.hosts[index(runtime.world_rank)], other = runtime.hosts[index(rank)];
    const network::Network& network = runtime.plan.network;
    return CreditLimit::of_path(network.latency(own, other).value(),
                                network.bandwidth(own, other).value());
  };
}

std::shared_ptr<Accounts> Communicators::accounts(const Tags::Number& number,
                                                  const Runtime& runtime) {
  if (_shared != nullptr && !runtime.multiple_threads) return _shared;
  auto made =
      std::make_unique<Accounts>(runtime.shadow, acknowledgement_tag(*number), limits(runtime));
  // The number is theirs as long as they are.
  std::shared_ptr<Accounts> shared(made.release(), [number](Accounts* its) { delete its; });
  if (!runtime.multiple_threads) _shared = shared;
  return shared;
}

void Communicators::settle() {
  const std::int64_t end_ns = observe::monotonic_ns() + longest_settling_ns;
  while (const std::unique_ptr<Communicator> next = _communicators.take_any()) {
    next->end();
    if (next->accounts != nullptr) next->accounts->settle(end_ns);
  }
  for (auto retired = take_retired(); !retired.empty(); retired = take_retired())
    for (const auto& accounts : retired)
      accounts->settle(end_ns);
}

std::vector<std::string> Communicators::race_reports() {
  return all_reports(_ended_races, reports_of);
}

std::string Communicators::more_races_report() {
  ByCandidate<std::uint64_t> more;
  {
    const std::lock_guard lock(_mutex);
    more = _more_ended_races;
  }
  _communicators.for_each([&](const Communicator& each) {
    if (each.adaptation != nullptr) sum_up(more, each.adaptation->races().left_out());
  });
  return as_json(more);
}

std::vector<std::string> Communicators::change_reports() {
  return all_reports(_ended_changes, changes_of);
}

std::vector<std::string>
Communicators::all_reports(const std::vector<std::string>& ended,
                           std::vector<std::string> (*of)(const Communicator&)) {
  std::vector<std::string> result;
  {
    const std::lock_guard lock(_mutex);
    result = ended;
  }
  _communicators.for_each([&](const Communicator& each) {
    for (std::string& report : of(each))
      result.push_back(std::move(report));
  });
  return result;
}

void Communicators::end_streams() {
  _communicators.for_each([](Communicator& each) { each.stream.reset(); });
}

void Communicators::free_keyval() {
  if (_keyval != MPI_KEYVAL_INVALID) native.Comm_free_keyval(&_keyval);
}

} // namespace thalweg::runtime
