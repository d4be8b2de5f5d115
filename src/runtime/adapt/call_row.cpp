#include "runtime/adapt/call_row.hpp"

#include "planner/native_algorithm.hpp"

namespace thalweg::runtime {
namespace {

/// The number of calls of one shape that are simulated in a row where the latest calls aren't
/// known.
constexpr std::size_t least_row = 6;
/// A native call of more messages is simulated as a barrier.
constexpr std::int64_t most_native_messages = 4096;

algorithms::Skeleton make_native(const algorithms::Problem& problem, std::string_view library) {
  const planner::Choice choice = planner::native_choice(problem, library);
  return algorithms::make_skeleton(algorithms::find(choice.algorithm), problem, choice.parameters);
}

} // namespace

CallRow::CallRow(const Observations& seen, const CalledShape& shape,
                 const std::atomic<bool>& is_cancelled)
    : _seen(seen), _is_cancelled(is_cancelled) {
  for (const RowedCall& called : seen.row)
    add(called, shape);
  drop_first_calls();
  if (std::ranges::none_of(_calls, &Call::is_meant)) add_likely_calls(shape);
  find_workloads();
}

void CallRow::add_likely_calls(const CalledShape& shape) {
  _calls.clear();
  _planned.clear();
  for (std::size_t i = 0; i < least_row; ++i)
    add({shape.key, shape.size, true}, shape);
  const bool has_plan = !_planned.empty();
  drop_first_calls();
  _is_too_large = has_plan && _planned.empty();
  if (_planned.empty()) _calls.clear();
}

/// Leaves the latest calls that don't have too many messages.
void CallRow::drop_first_calls() {
  std::size_t left = 0;
  std::int64_t messages = 0;
  while (left < _calls.size() &&
         (messages += _calls[_calls.size() - 1 - left].messages) <= most_messages)
    ++left;
  const std::size_t dropped = _calls.size() - left;
  _calls.erase(_calls.begin(), _calls.begin() + static_cast<std::ptrdiff_t>(dropped));
  std::erase_if(_planned, [&](std::size_t at) { return at < dropped; });
  for (std::size_t& at : _planned)
    at -= dropped;
}

void CallRow::find_workloads() {
  const units::Size eager_limit = network::message_cost(_seen.network, _seen.library).eager_limit;
  for (Call& call : _calls) {
    if (_is_cancelled) return;
    call.workload = &_workloads.of(call.collective, *call.plan, eager_limit);
  }
}

const simulator::CallWorkload& CallRow::Workloads::of(const collective::Collective& collective,
                                                      const algorithms::Skeleton& plan,
                                                      units::Size eager_limit) {
  const auto known = std::ranges::find_if(_known, [&](const Known& each) {
    return each.plan == &plan && each.collective == collective;
  });
  if (known != _known.end()) return known->workload;
  _known.push_back({collective, &plan, {collective, plan, eager_limit}});
  return _known.back().workload;
}

void CallRow::add(Call call, bool is_planned) {
  const algorithms::Problem problem =
      algorithms::make_problem(call.collective, _seen.network, _seen.placement, _seen.library);
  call.messages = simulator::simulated_messages(problem, *call.plan, {});
  if (is_planned) _planned.push_back(_calls.size());
  _calls.push_back(call);
}

/// Adds a call: a native one, too, if the table has no plan for it any more.
void CallRow::add(const RowedCall& called, const CalledShape& shape) {
  const planner::Entry* const row = row_of(called);
  if (!called.is_planned || row == nullptr || row->native) {
    const Native& native = native_of(called);
    return add({native.collective, &native.skeleton}, false);
  }
  add({_seen.collective_of(called.key, called.size), &row->skeleton, called.key == shape.key,
       called.key.is_of_same_class(shape.key)},
      true);
}

const planner::Entry* CallRow::row_of(const RowedCall& called) {
  std::shared_ptr<const planner::Entry> row =
      _seen.table.find(called.key.kind, called.key.root, called.size);
  if (row == nullptr) return nullptr;
  const auto known = std::ranges::find_if(_rows, [&](const auto& each) {
    return std::tuple(each->kind, each->root, each->min_size) ==
           std::tuple(row->kind, row->root, row->min_size);
  });
  if (known != _rows.end()) return known->get();
  return _rows.emplace_back(std::move(row)).get();
}

const CallRow::Native& CallRow::native_of(const RowedCall& called) {
  const auto known = std::ranges::find_if(_natives, [&](const Native& native) {
    return native.call.key == called.key && native.call.size == called.size;
  });
  if (known != _natives.end()) return *known;
  algorithms::Problem problem = algorithms::make_problem(
      _seen.collective_of(called.key, called.size), _seen.network, _seen.placement, _seen.library);
  algorithms::Skeleton skeleton = make_native(problem, _seen.library);
  if (simulator::simulated_messages(problem, skeleton, {}) > most_native_messages) {
    problem.collective = {.kind = collective::Kind::barrier, .ranks = problem.collective.ranks};
    skeleton = make_native(problem, _seen.library);
  }
  _natives.push_back({called, problem.collective, std::move(skeleton)});
  return _natives.back();
}

CallSeconds CallRow::seconds_with(const algorithms::Skeleton& plan, const Network& network) const {
  CallSeconds sum;
  double calls = 0;
  simulate_all(network, size(), _calls.size(), &plan,
               [&](const Call& call, const simulator::Posts&, const Taken& taken) {
                 sum.all += taken.after;
                 if (!call.is_meant) return true;
                 sum.of_shape += taken.call;
                 ++calls;
                 return true;
               });
  if (calls > 0) sum.call = sum.of_shape / calls;
  return sum;
}

} // namespace thalweg::runtime
