#include "runtime/execute/accounts.hpp"

#include "runtime/execute/own_arithmetic.hpp"
#include "runtime/mpi/error.hpp"
#include "runtime/observe/clock.hpp"
#include "units/index.hpp"

#include <sched.h>

namespace thalweg::runtime {
Accounts::Accounts(MPI_Comm comm, int tag, LimitOf limit_of)
    : _comm(comm), _tag(tag), _limit_of(std::move(limit_of)) {
  int ranks = 0;
  native.Comm_size(comm, &ranks);
  _accounts.resize(index(ranks));
}

Accounts::Account& Accounts::with(int rank) {
  auto& account = _accounts[index(rank)];
  if (account == nullptr) {
    const OwnArithmetic arithmetic;
    account = std::make_unique<Account>();
    account->credit = Credit(_limit_of(rank));
  }
  return *account;
}

bool Accounts::may_send(int to, int window) {
  if constexpr (is_simulated) return true;
  Account& account = with(to);
  if (account.credit.may_send(window)) return true;
  take(to, account);
  return account.credit.may_send(window);
}

void Accounts::sent(int to, std::int64_t bytes) {
  if constexpr (is_simulated) return;
  Account& account = with(to);
  if (!account.credit.sent(bytes)) return;
  if (account.due == native.request_null) return expect(to, account);
  take(to, account);
}

bool Accounts::posted(int from) {
  if constexpr (is_simulated) return false;
  return with(from).receiver.posted();
}

void Accounts::acknowledge(int from, MPI_Request* request) {
  check(native.Isend(nullptr, 0, native.byte, from, _tag, _comm, request));
}

void Accounts::expect(int rank, Account& account) {
  check(native.Irecv(nullptr, 0, native.byte, rank, _tag, _comm, &account.due));
}

void Accounts::take(int rank, Account& account) {
  while (account.due != native.request_null) {
    int done = 0;
    check(native.Test(&account.due, &done, MPI_STATUS_IGNORE));
    if (done == 0) return;
    account.credit.acknowledged();
    if (account.credit.awaits_acknowledgement()) expect(rank, account);
  }
}

void Accounts::take_last(int rank, Account& account) {
  try {
    take(rank, account);
  } catch (const MpiError&) {
    account.due = native.request_null;
  }
}

bool Accounts::take_all() {
  bool all = true;
  for (std::size_t rank = 0; rank < _accounts.size(); ++rank) {
    if (_accounts[rank] == nullptr) continue;
    take_last(static_cast<int>(rank), *_accounts[rank]);
    all &= _accounts[rank]->due == native.request_null;
  }
  return all;
}

void Accounts::settle(std::int64_t end_ns) {
  for (std::size_t rank = 0; rank < _accounts.size(); ++rank) {
    Account* const account = _accounts[rank].get();
    if (account == nullptr) continue;
    take_last(static_cast<int>(rank), *account);
    while (account->due != native.request_null && observe::monotonic_ns() < end_ns) {
      sched_yield();
      take_last(static_cast<int>(rank), *account);
    }
    if (account->due == native.request_null) continue;
    native.Cancel(&account->due);
    native.Wait(&account->due, MPI_STATUS_IGNORE);
  }
}

} // namespace thalweg::runtime
