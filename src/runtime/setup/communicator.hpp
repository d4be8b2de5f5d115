#pragma once

#include "runtime/choose/chooser.hpp"
#include "runtime/execute/accounts.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace thalweg::runtime {

struct Runtime;

/// The state of a communicator: equal on all its ranks, except for `rank` and `chooser`.
struct Communicator {
  std::optional<Reason> reason; ///< why all its calls are native, if they are
  Rank rank = 0, size = 1;
  std::vector<int> world_ranks;   ///< by rank; empty if it isn't derived from COMM_WORLD
  int tag = -1;                   ///< of its messages; -1: it has none
  std::optional<Chooser> chooser; ///< if calls may be planned
  std::uint32_t calls = 0;        ///< intercepted so far
  /// For its messages: shared by all communicators, unless several threads may call at a time.
  std::shared_ptr<Accounts> accounts;

  [[nodiscard]] int leader() const { return world_ranks.empty() ? -1 : world_ranks.front(); }
};

/// Returns the MPI tags of the data of a communicator with this tag, and of the acknowledgements.
constexpr int data_tag(int tag) { return 2 * tag; }
constexpr int acknowledgement_tag(int tag) { return 2 * tag + 1; }

/// The communicators that are set up, by handle. An entry is removed when MPI frees the
/// communicator, so that a reused handle starts anew. Thread-safe; no lock is held across an MPI
/// call.
class Communicators {
public:
  /// Returns null if the communicator isn't set up. A plain look-up: any handle is allowed.
  [[nodiscard]] Communicator* find(MPI_Comm comm);
  /// Sets up `comm`, which all its members do in the same call. Collective over its members if
  /// they share an active runtime and it spans several hosts, else local. Idempotent.
  Communicator& set_up(MPI_Comm comm, Runtime& runtime);
  /// Sets up COMM_WORLD and COMM_SELF. Collective over COMM_WORLD if the runtime is active.
  void add_world(Runtime& runtime);
  void free_keyval();
  /// Waits for the acknowledgements of all messages, which come when the others have left their
  /// calls; not for ever, since none may come after an error. No call may follow.
  void settle();

private:
  Communicator& insert(MPI_Comm comm, std::unique_ptr<Communicator> communicator);
  void erase(MPI_Comm comm);
  static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra);

  /// Fills everything that needs no agreement, without communication.
  std::unique_ptr<Communicator> describe(MPI_Comm comm, const Runtime& runtime) const;
  void agree(MPI_Comm comm, Communicator& communicator, Runtime& runtime);
  void choose_plans(MPI_Comm comm, Communicator& communicator, network::Placement placement,
                    bool lacking, Runtime& runtime);
  std::shared_ptr<const planner::Table> table(MPI_Comm comm, const network::Placement& placement,
                                              bool lacking, Runtime& runtime);
  std::shared_ptr<const planner::Table> known_table(const network::Placement& placement,
                                                    const Runtime& runtime);
  int propose_tag();
  bool claim_tag(int tag);
  void release_tag(int tag);
  std::shared_ptr<Accounts> make_accounts(int tag, const Runtime& runtime) const;

  std::mutex _mutex;
  std::unordered_map<MPI_Comm, std::unique_ptr<Communicator>> _communicators;
  std::vector<std::shared_ptr<const planner::Table>> _tables; ///< made in this process
  std::shared_ptr<Accounts> _shared; ///< unless several threads may call at a time
  /// Of communicators that are gone, with acknowledgements to come.
  std::vector<std::shared_ptr<Accounts>> _retired;
  std::set<int> _tags; ///< in use, if threads may set up communicators at the same time
  int _next_tag = 1;   ///< COMM_WORLD has 0
  int _keyval = MPI_KEYVAL_INVALID;
};

} // namespace thalweg::runtime
