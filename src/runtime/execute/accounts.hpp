#pragma once

#include "runtime/execute/credit.hpp"
#include "runtime/mpi/native.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace thalweg::runtime {

/// A process's accounts with the others: what it has sent to them, and what they know to have
/// arrived. An acknowledgement is an empty message, whose receive the sender has posted unless it
/// is busy elsewhere. Accounts last from call to call. Not thread-safe: calls that may be made at
/// the same time need accounts and a tag of their own. Simulated ranks keep none: to look whether
/// something has arrived takes simulated time, and what lies unexpected is the simulator's.
class Accounts {
public:
  using LimitOf = std::function<CreditLimit(int rank)>;

  /// @param comm communicator of the messages, @param tag for acknowledgements alone
  /// @param limit_of gives the limit for a receiver, asked once
  Accounts(MPI_Comm comm, int tag, LimitOf limit_of);
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  /// Whether a message may be sent to a rank by a call with this window.
  bool may_send(int to, int window);
  /// Counts a message that is sent now.
  void sent(int to, std::int64_t bytes);
  /// Counts a receive that is posted now. Returns whether acknowledge() is to be called when it is
  /// complete.
  bool posted(int from);
  /// Starts an acknowledgement; it completes without the receiver's doing.
  void acknowledge(int from, MPI_Request* request);
  /// Takes the acknowledgements that have arrived. Returns whether none is due any more. No message
  /// may be sent any more. Throws nothing: the MPI library may call it.
  bool take_all();
  /// Waits for the acknowledgements that are due, until observe::monotonic_ns() is `end_ns`, since
  /// one may never come after an error. No message may be sent any more. Throws nothing.
  void settle(std::int64_t end_ns);

private:
  struct Account {
    Credit credit;
    CreditReceiver receiver;
    MPI_Request due = native.request_null; ///< of the oldest acknowledgement to come
  };
  Account& with(int rank);
  void expect(int rank, Account& account);
  /// Takes the acknowledgements that have arrived.
  void take(int rank, Account& account);
  /// Does the same where no more messages are sent: after an error nothing is due.
  void take_last(int rank, Account& account);

  MPI_Comm _comm;
  int _tag;
  LimitOf _limit_of;
  std::vector<std::unique_ptr<Account>> _accounts; ///< by rank; null: no messages so far
};

} // namespace thalweg::runtime
