#include "runtime/execute/mpi_transport.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <sched.h>

namespace thalweg::runtime {
namespace {

constexpr std::int64_t most_units = std::int64_t{1} << 30; // per MPI call

void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError{code};
}

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

void MpiTransport::send(Token token, collective::Rank to, const std::byte* data, std::int64_t units,
                        bool synchronous) {
  const auto isend = synchronous ? native.Issend : native.Isend;
  post(token, units, [&](std::int64_t offset, int count, MPI_Request* request) {
    return isend(data + offset, count, _setup.type, _setup.ranks[to], _setup.tag, _setup.comm,
                 request);
  });
}

void MpiTransport::receive(Token token, collective::Rank from, std::byte* data,
                           std::int64_t units) {
  post(token, units, [&](std::int64_t offset, int count, MPI_Request* request) {
    return native.Irecv(data + offset, count, _setup.type, _setup.ranks[from], _setup.tag,
                        _setup.comm, request);
  });
}

/// Yields after each idle poll: ranks may outnumber the cores, and the awaited rank may need this
/// core. (MPI_Waitsome would spin, in some libraries without ever yielding.)
int MpiTransport::poll() {
  _indices.resize(_requests.size());
  _statuses.resize(_requests.size());
  while (true) {
    int count = 0;
    const int code = native.Testsome(static_cast<int>(_requests.size()), _requests.data(), &count,
                                     _indices.data(), _statuses.data());
    if (code == MPI_ERR_IN_STATUS)
      for (int i = 0; i < count; ++i)
        check(_statuses[static_cast<std::size_t>(i)].MPI_ERROR);
    check(code);
    if (count != 0) return count;
    sched_yield();
  }
}

std::span<const Transport::Token> MpiTransport::wait() {
  _completed.clear();
  while (_completed.empty()) {
    const int count = poll();
    // Goes backwards, so that an entry that fills a gap isn't a complete one.
    std::sort(_indices.begin(), _indices.begin() + count, std::greater<>());
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(_indices[static_cast<std::size_t>(i)]);
      const Token token = _tokens[at];
      _requests[at] = _requests.back();
      _tokens[at] = _tokens.back();
      _requests.pop_back();
      _tokens.pop_back();
      // A message of several parts is complete when none is left.
      if (std::ranges::find(_tokens, token) == _tokens.end()) _completed.push_back(token);
    }
  }
  return _completed;
}

void MpiTransport::copy(const std::byte* from, std::byte* to, std::int64_t units) {
  if (_setup.contiguous) {
    std::memcpy(to, from, static_cast<std::size_t>(units * _setup.shape.extent));
    return;
  }
  // The bytes in the gaps of `to` must not change.
  int self = 0;
  check(native.Comm_rank(_setup.comm, &self));
  by_parts(units, _setup.shape.extent, [&](std::int64_t offset, int count) {
    check(native.Sendrecv(from + offset, count, _setup.type, self, _setup.tag, to + offset, count,
                          _setup.type, self, _setup.tag, _setup.comm, MPI_STATUS_IGNORE));
  });
}

void MpiTransport::combine(const std::byte* left, std::byte* right, std::int64_t units) {
  by_parts(units, _setup.shape.extent, [&](std::int64_t offset, int count) {
    check(native.Reduce_local(left + offset, right + offset, count, _setup.type, _setup.op));
  });
}

} // namespace thalweg::runtime
