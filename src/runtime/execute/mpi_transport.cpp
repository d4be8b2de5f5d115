#include "runtime/execute/mpi_transport.hpp"

#include "runtime/mpi/datatype.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <sched.h>

namespace thalweg::runtime {
namespace {

constexpr std::int64_t most_units = std::int64_t{1} << 30; // per MPI call

/// Calls `part(offset in bytes, units)` for parts that an int can count.
template <class Part>
void by_parts(std::int64_t units, std::int64_t extent, const Part& part) {
  for (std::int64_t done = 0; done < units; done += most_units)
    part(done * extent, static_cast<int>(std::min(most_units, units - done)));
}

} // namespace

template <class Post>
void MpiTransport::post(Token token, std::int64_t units, const Post& post) {
  by_parts(units, _setup.shape.extent, [&](std::int64_t offset, int count) {
    _requests.push_back(native.request_null);
    _tokens.push_back(token);
    check(post(offset, count, &_requests.back()));
  });
}

bool MpiTransport::may_send(collective::Rank to) {
  return _setup.accounts->may_send(_setup.ranks[to], _setup.window);
}

void MpiTransport::send(Token token, collective::Rank to, const std::byte* data,
                        std::int64_t units) {
  const Deferred message{token, to, data, units};
  // Messages to a rank keep their order.
  if (std::ranges::find(_deferred, to, &Deferred::to) != _deferred.end() || !may_send(to))
    _deferred.push_back(message);
  else
    start_send(message);
}

void MpiTransport::start_send(const Deferred& message) {
  const int to = _setup.ranks[message.to];
  _setup.accounts->sent(to, message.units * _setup.shape.bytes);
  post(message.token, message.units, [&](std::int64_t offset, int count, MPI_Request* request) {
    return native.Isend(message.data + offset, count, _setup.type, to, _setup.tag, _setup.comm,
                        request);
  });
}

/// Sends, in their order, the messages for which there is credit by now.
void MpiTransport::send_deferred() {
  std::vector<collective::Rank> without_credit;
  std::erase_if(_deferred, [&](const Deferred& message) {
    if (std::ranges::find(without_credit, message.to) != without_credit.end()) return false;
    if (may_send(message.to)) {
      start_send(message);
      return true;
    }
    without_credit.push_back(message.to);
    return false;
  });
}

void MpiTransport::receive(Token token, collective::Rank from, std::byte* data,
                           std::int64_t units) {
  post(token, units, [&](std::int64_t offset, int count, MPI_Request* request) {
    return native.Irecv(data + offset, count, _setup.type, _setup.ranks[from], _setup.tag,
                        _setup.comm, request);
  });
  if (_setup.accounts->posted(_setup.ranks[from])) _acknowledgements.push_back({token, from});
}

void MpiTransport::acknowledge(Token token) {
  const auto due = std::ranges::find(_acknowledgements, token, &Acknowledgement::token);
  if (due == _acknowledgements.end()) return;
  _requests.push_back(native.request_null);
  _tokens.push_back(no_token);
  _setup.accounts->acknowledge(_setup.ranks[due->from], &_requests.back());
  _acknowledgements.erase(due);
}

int MpiTransport::poll() {
  if (!_deferred.empty()) send_deferred();
  _indices.resize(_requests.size());
  if constexpr (is_simulated) {
    check(native.Waitany(static_cast<int>(_requests.size()), _requests.data(), _indices.data(),
                         MPI_STATUS_IGNORE));
    return 1;
  }
  _statuses.resize(_requests.size());
  int count = 0;
  const int code = native.Testsome(static_cast<int>(_requests.size()), _requests.data(), &count,
                                   _indices.data(), _statuses.data());
  if (code == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i)
      check(_statuses[index(i)].MPI_ERROR);
  check(code);
  return count == MPI_UNDEFINED ? 0 : count; // undefined: all wait for credit
}

bool MpiTransport::take_completed() {
  const int count = poll();
  // Goes backwards, so that an entry that fills a gap isn't a complete one.
  std::sort(_indices.begin(), _indices.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    const std::size_t at = index(_indices[index(i)]);
    const Token token = _tokens[at];
    _requests[at] = _requests.back();
    _tokens[at] = _tokens.back();
    _requests.pop_back();
    _tokens.pop_back();
    // A message of several parts is complete when none is left.
    if (token != no_token && std::ranges::find(_tokens, token) == _tokens.end())
      _completed.push_back(token);
  }
  return count > 0;
}

/// Yields after each idle poll: ranks may outnumber the cores, and the awaited rank may need this
/// core. (MPI_Waitsome would spin, in some libraries without ever yielding.)
void MpiTransport::await_completed() {
  while (!take_completed())
    sched_yield();
}

void MpiTransport::acknowledge_completed() {
  if (_acknowledgements.empty()) return;
  for (const Token token : _completed)
    acknowledge(token);
}

std::span<const Transport::Token> MpiTransport::wait() {
  _completed.clear();
  while (_completed.empty())
    await_completed();
  acknowledge_completed();
  return _completed;
}

std::span<const Transport::Token> MpiTransport::test() {
  _completed.clear();
  take_completed();
  acknowledge_completed();
  return _completed;
}

void MpiTransport::finish() {
  while (!_requests.empty())
    await_completed();
}

void MpiTransport::copy(const std::byte* from, std::byte* to, std::int64_t units) {
  if (_setup.contiguous) {
    std::memcpy(to, from, static_cast<std::size_t>(units * _setup.shape.extent));
    return;
  }
  // The bytes in the gaps of `to` must not change.
  const ToSelf to_self{_setup.comm, _setup.tag};
  by_parts(units, _setup.shape.extent, [&](std::int64_t offset, int count) {
    check(to_self.copy(from + offset, count, _setup.type, to + offset, count, _setup.type));
  });
}

void MpiTransport::combine(const std::byte* left, std::byte* right, std::int64_t units) {
  by_parts(units, _setup.shape.extent, [&](std::int64_t offset, int count) {
    check(native.Reduce_local(left + offset, right + offset, count, _setup.type, _setup.op));
  });
}

} // namespace thalweg::runtime
