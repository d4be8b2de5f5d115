#pragma once

#include "runtime/adapt/adaptation.hpp"
#include "runtime/choose/chooser.hpp"
#include "runtime/execute/accounts.hpp"
#include "runtime/setup/communicator_map.hpp"
#include "runtime/setup/negotiation.hpp"
#include "runtime/setup/neighbors.hpp"
#include "runtime/setup/stream.hpp"
#include "runtime/setup/tags.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace thalweg::runtime {

struct Runtime;

/// The state of a communicator: equal on all its ranks, except for `rank`, `chooser` and what each
/// of them exchanges.
struct Communicator {
  std::optional<Reason> reason; ///< why all its calls are native, if they are
  Rank rank = 0, size = 1;
  std::vector<int> world_ranks; ///< by rank; empty if not known, or one isn't in COMM_WORLD
  std::uint64_t members = 0;    ///< as in the run record; 0: not known, or nothing is recorded
  /// A number that names the communicator together with the world rank of its first rank; -1: it
  /// has none.
  int name = -1;
  /// The number on which its messages' tags depend in programs with MPI_THREAD_MULTIPLE: FIFO order
  /// suffices in others. Null: it has none. Those own it, too, who may get messages after it is
  /// freed: its accounts and its stream.
  Tags::Number number_for_tags;
  std::uint32_t number = 0;                 ///< of those that this process has met, in their order
  std::optional<Chooser> chooser;           ///< if calls may be planned
  std::uint32_t calls = 0;                  ///< intercepted so far
  std::unique_ptr<Negotiation> negotiation; ///< until it is known whether calls may be planned
  std::unique_ptr<Adaptation> adaptation;   ///< if its calls may race
  std::unique_ptr<Neighborhoods> neighborhoods; ///< if it has neighbours whose calls may be planned
  /// The accounts of its messages: shared by all communicators, unless several threads may call at
  /// a time.
  std::shared_ptr<Accounts> accounts;
  std::shared_ptr<Stream> stream; ///< of nonblocking operations; null: they are native

  [[nodiscard]] int leader() const { return world_ranks.empty() ? -1 : world_ranks.front(); }
  /// Whether it is known that all its calls are native, and its calls have the usual arguments.
  [[nodiscard]] bool passes() const {
    return reason && negotiation == nullptr && reason != Reason::intercommunicator;
  }
  /// Finds its ranks in COMM_WORLD, and whether anything prevents plans. As world_ranks_of().
  void describe(MPI_Comm comm, const Runtime& runtime);
  /// Waits for what its ranks have begun to agree on. No call may follow. While it waits, the MPI
  /// library may call back for communicators that were freed before, and end these.
  void end();
  /// Enters it in what is recorded, if anything is. As world_ranks_of(), if its ranks aren't known.
  void note(MPI_Comm comm, const Runtime& runtime);
  /// Lets reductions be executed by reproducible_choice(), without any agreement, which one thread
  /// needs none for; other collectives by the plan file alone. Local.
  void enable_at_once(MPI_Comm comm, Runtime& runtime);
  /// Lets calls be planned. @param table may be null, as Chooser's
  void enable(network::Placement placement, std::shared_ptr<const planner::Table> table,
              Runtime& runtime);
};

/// How long acknowledgements are waited for at the end of the program: an error may have lost them.
inline constexpr std::int64_t longest_settling_ns = 5'000'000'000;

/// Returns the MPI tags of the data of a communicator with this number, and of the
/// acknowledgements.
constexpr int data_tag(int number) { return 2 * number; }
constexpr int acknowledgement_tag(int number) { return 2 * number + 1; }

/// Returns the ranks in COMM_WORLD of a communicator's members, or of the remote ones, if it is an
/// intercommunicator; MPI_UNDEFINED for those that aren't there. Local. O(ranks) for a communicator
/// like COMM_WORLD; else what the library takes to translate ranks: O(ranks × ranks of COMM_WORLD)
/// in Open MPI.
std::vector<int> world_ranks_of(MPI_Comm comm);
/// Returns the same of a group, which it frees, always by the library's translation.
std::vector<int> take_world_ranks(MPI_Group group);

/// The communicators that have been used, by handle. An entry is removed when MPI frees the
/// communicator, so that a reused handle starts anew. Thread-safe; no lock is held across an MPI
/// call that may block.
class Communicators {
public:
  /// Returns null if the communicator hasn't been used. A plain look-up: any handle is allowed. The
  /// last one that a thread found costs it a few nanoseconds.
  [[nodiscard]] Communicator* find(MPI_Comm comm) { return _communicators.find(comm); }
  /// Adds a communicator that isn't known. Local. Returns null, and adds nothing, if it is
  /// MPI_COMM_NULL, of which only the program's call may raise an error, or if its ranks are
  /// threads: an entry would be that of several ranks, and go with the first of them.
  Communicator* add(MPI_Comm comm, Runtime& runtime);
  /// Adds COMM_WORLD and COMM_SELF. Collective over COMM_WORLD if the runtime is active.
  void add_world(Runtime& runtime);
  /// Called before MPI frees a communicator; collective as that is.
  void leave(MPI_Comm comm);
  /// Waits for all that is open, and for the acknowledgements of all messages, which come when the
  /// others have left their calls; not for ever, since none may come after an error. No call may
  /// follow.
  void settle();
  /// Ends all streams; called before the helper ends. No nonblocking operation may follow.
  void end_streams();
  void free_keyval();
  /// Returns what there is to say of races, also on communicators that are gone.
  std::vector<std::string> race_reports();
  /// Returns how many races these leave out, by what each ended with, as a JSON object; empty:
  /// none.
  std::string more_races_report();
  /// Returns what there is to say of plans that followed the network.
  std::vector<std::string> change_reports();
  /// Returns the accounts for a communicator with this number for tags.
  std::shared_ptr<Accounts> accounts(const Tags::Number& number, const Runtime& runtime);
  /// Returns the limits for messages to each rank of COMM_WORLD.
  static Accounts::LimitOf limits(const Runtime& runtime);
  [[nodiscard]] Tags& tags() { return _tags; }
  /// Returns a name that this process hasn't given to another communicator.
  [[nodiscard]] int next_name() { return ++_named; }

private:
  void erase(MPI_Comm comm);
  std::vector<std::shared_ptr<Accounts>> take_retired();
  /// Returns what was kept of communicators that are gone, and what there is to say of the others.
  std::vector<std::string> all_reports(const std::vector<std::string>& ended,
                                       std::vector<std::string> (*of)(const Communicator&));
  static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra);

  CommunicatorMap<Communicator> _communicators;
  std::shared_ptr<Accounts> _shared; ///< unless several threads may call at a time
  std::mutex _mutex;                 ///< of _retired, and of what has ended
  /// The accounts of communicators that are gone, with acknowledgements to come.
  std::vector<std::shared_ptr<Accounts>> _retired;
  std::vector<std::string> _ended_races, _ended_changes; ///< reports, where this is world rank 0
  ByCandidate<std::uint64_t> _more_ended_races;          ///< that are in none, by winner
  Tags _tags;
  std::atomic<int> _named = 0; ///< COMM_WORLD's is 0
  std::atomic<std::uint32_t> _met = 0;
  int _keyval = MPI_KEYVAL_INVALID;
};

} // namespace thalweg::runtime
