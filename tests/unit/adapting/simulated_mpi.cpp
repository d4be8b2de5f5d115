#include "adapting/simulated_mpi.hpp"

#include "planner/bytes.hpp"
#include "runtime/adapt/planning_thread.hpp"
#include "runtime/mpi/native.hpp"
#include "runtime/observe/clock.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <stdexcept>

namespace thalweg::test {
namespace {

SimulatedMpi* simulated = nullptr;
/// When the plans of a thread are ready.
std::map<const runtime::PlanningThread*, std::int64_t> ready_ns;

/// A request is a place in it, by its number.
std::array<char, std::size_t{1} << 20> requests;

MPI_Request request_of(std::size_t number) {
  return reinterpret_cast<MPI_Request>(&requests.at(number));
}

template <class T, class Combine>
auto combining(int count, Combine combine) {
  return [count, combine](std::byte* to, const std::byte* other) {
    std::vector<T> left(static_cast<std::size_t>(count)), right(left.size());
    std::memcpy(left.data(), to, left.size() * sizeof(T));
    std::memcpy(right.data(), other, right.size() * sizeof(T));
    for (std::size_t i = 0; i < left.size(); ++i)
      left[i] = combine(left[i], right[i]);
    std::memcpy(to, left.data(), left.size() * sizeof(T));
  };
}

int iallreduce(const void* own, void* result, int count, MPI_Datatype /*type*/, MPI_Op /*op*/,
               MPI_Comm /*comm*/, MPI_Request* request) {
  *request = request_of(simulated->begin(
      own, result, static_cast<std::size_t>(count) * 8,
      combining<std::int64_t>(count, [](auto a, auto b) { return std::min(a, b); })));
  return MPI_SUCCESS;
}

int ireduce(const void* own, void* result, int count, MPI_Datatype /*type*/, MPI_Op /*op*/,
            int /*root*/, MPI_Comm /*comm*/, MPI_Request* request) {
  *request = request_of(
      simulated->begin(own, result, static_cast<std::size_t>(count) * 8,
                       combining<std::uint64_t>(count, [](auto a, auto b) { return a + b; })));
  return MPI_SUCCESS;
}

int ibcast(void* data, int count, MPI_Datatype /*type*/, int /*root*/, MPI_Comm /*comm*/,
           MPI_Request* request) {
  *request = request_of(simulated->begin(data, data, static_cast<std::size_t>(count), nullptr));
  return MPI_SUCCESS;
}

int wait_for(MPI_Request* request, MPI_Status* /*status*/) {
  simulated->wait(
      static_cast<std::size_t>(reinterpret_cast<const char*>(*request) - requests.data()));
  return MPI_SUCCESS;
}

} // namespace

SimulatedMpi::SimulatedMpi(std::size_t ranks, double latency_s, std::optional<double> planning_s)
    : _latency_s(latency_s), _planning_s(planning_s), _times(ranks), _offsets_ns(ranks),
      _begun(ranks) {
  simulated = this;
  runtime::native.Iallreduce = iallreduce;
  runtime::native.Ireduce = ireduce;
  runtime::native.Ibcast = ibcast;
  runtime::native.Wait = wait_for;
}

SimulatedMpi::~SimulatedMpi() {
  simulated = nullptr;
  ready_ns.clear();
}

std::int64_t SimulatedMpi::clock_ns() const {
  return static_cast<std::int64_t>(_times[_current] * 1e9) + _offsets_ns[_current];
}

std::size_t SimulatedMpi::begin(const void* own, void* result, std::size_t bytes,
                                std::function<void(std::byte*, const std::byte*)> reduces) {
  const std::size_t number = ++_begun[_current];
  if (_operations.size() < number) _operations.resize(number);
  Operation& operation = _operations[number - 1];
  operation.data.resize(_times.size());
  operation.results.resize(_times.size());
  operation.reduces = std::move(reduces);
  const auto* const data = static_cast<const std::byte*>(own);
  operation.data[_current].assign(data, data + bytes);
  operation.results[_current] = result;
  operation.last_s = std::max(operation.last_s, _times[_current]);
  return number;
}

void SimulatedMpi::wait(std::size_t number) {
  Operation& operation = _operations[number - 1];
  const std::vector<std::byte>& first = operation.data.front();
  for (const auto& data : operation.data)
    if (data.empty() || data.size() != first.size())
      throw std::logic_error("ranks have not all begun the same collective");
  std::vector<std::byte> result = first;
  if (operation.reduces)
    for (std::size_t rank = 1; rank < operation.data.size(); ++rank)
      operation.reduces(result.data(), operation.data[rank].data());
  if (void* const to = operation.results[_current]; to != nullptr)
    std::memcpy(to, result.data(), result.size());
  _times[_current] = std::max(_times[_current], operation.last_s + _latency_s);
}

} // namespace thalweg::test

namespace thalweg::runtime {

Native native;

std::int64_t observe::monotonic_ns() { return test::simulated->clock_ns(); }
bool observe::detail::has_invariant_counter() { return false; }

observe::Calibration::Calibration() : _start{0, 0} {}
void observe::Calibration::calibrate() {}
std::int64_t observe::Calibration::to_ns(Ticks ticks) const { return ticks; }

/// Plans at once; the answer comes later.
void PlanningThread::start(std::shared_ptr<const Observations> seen) {
  const std::shared_ptr<const Observations> own = std::move(seen);
  const std::optional<double> planning_s = test::simulated->planning_s();
  _is_cancelled = false;
  _has_failed = own == nullptr || !planning_s;
  if (_has_failed) return;
  run(*own);
  test::ready_ns[this] = observe::monotonic_ns() + static_cast<std::int64_t>(*planning_s * 1e9);
}

void PlanningThread::run(const Observations& seen) {
  _bytes.clear();
  _result = replan(seen, _is_cancelled);
  _answer = AttemptState::nothing;
  if (!_result.is_worth_it()) return;
  const auto made = planner::to_bytes(_result.table);
  _bytes.assign(reinterpret_cast<const char*>(made.data()), made.size());
  _answer = static_cast<std::int64_t>(_bytes.size());
}

std::int64_t PlanningThread::answer() const {
  const auto found = test::ready_ns.find(this);
  const bool is_busy = found != test::ready_ns.end() && observe::monotonic_ns() < found->second;
  return is_busy ? AttemptState::busy : _answer.load();
}

void PlanningThread::stop() { _answer = AttemptState::nothing; }

} // namespace thalweg::runtime
