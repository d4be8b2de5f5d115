#pragma once

#include "execution/expansion.hpp"

#include <functional>
#include <limits>

namespace thalweg::execution {

/// The most operations from a rank's lowest open message on, including complete ones, so that one
/// slow message doesn't let the rank run far ahead of the others.
[[nodiscard]] constexpr std::int64_t longest_window(int window) {
  return window > 16 ? std::int64_t{4} * window : 64;
}

/// Decides what one or several ranks do next: the rules that runtime, simulator and SimGrid replay
/// share. The driver gets its instructions from posts(), carries them out, and reports the results.
///
/// - **Window.** A rank's operations enter its window one after another, in the order (step +
///   segment * period, segment, from, to). At most `window` sends, and separately `window`
///   receives, in it are open. A send is open until it is complete, a receive until its data has
///   arrived. A local transfer takes no room. From the lowest open message on there are at most
///   longest_window() operations. Operations without data are left out, at both ends alike: they
///   take no room and delay nothing.
/// - **Receives** are posted as they enter. Arrived data is written once no operation needs the
///   data it overwrites; until then, or if it is to be combined, the driver keeps it in its own
///   memory.
/// - **Sends** are posted once the data they read is there, in their order among the sends to the
///   same rank; they don't wait for sends to other ranks.
/// - **A local transfer** reads, into the driver's memory, once its data is there; from then on
///   others may overwrite that data. It waits for nothing else, not even for other local transfers.
/// - **Conflicts** exist between operations of the same segment only, as DependencyFinder finds
///   them. Operations that overwrite the data of a send wait until it is complete, even if the
///   driver sends a copy: waits depend on the schedule, not on memory.
///
/// Nothing deadlocks, whatever is buffered and however wide the windows are, even different ones at
/// the two ends. Proof: take the lowest incomplete message in the order of all ranks. All lower
/// ones are complete, so at both ends it is within the window, and no send is ahead of it in its
/// queue. The data of its send was written by operations of earlier steps of its segment: these
/// wait only for operations that are lower too, whose messages are complete; so, step by step, they
/// are written. Hence it is posted at both ends, and completes.
///
/// The state of all ranks and segments takes 16 B per operation and segment.
class Executor {
public:
  enum class Action : std::uint8_t {
    send,    ///< start sending; report sent()
    receive, ///< start receiving; report arrived(), then await `write`
    read,    ///< for a local transfer: read at once, then await `write`
    write,   ///< put in place what arrived or was read; report written()
  };
  struct Post {
    Action action;
    Item item;
    Item cause; ///< completion that made it possible; no_operation: enter()
    /// For a receive or read: whether its data may be put in place at once, provided that earlier
    /// posts have been carried out. `write` follows in any case.
    bool in_place;
  };
  /// Whether an operation has no data in a segment. If the function is empty, all have data.
  using IsEmpty = std::function<bool(Item)>;

  /// Begins anew. `operations` must outlive the execution.
  /// @param prepared segments for which memory is set up; for later ones as they begin, which may
  /// call `is_empty`
  /// @throws std::length_error if operations * segments is 2^31 or more
  void start(const Operations& operations, const schedule::Pipeline& pipeline, int window,
             IsEmpty is_empty = {},
             std::int32_t prepared = std::numeric_limits<std::int32_t>::max());
  /// Lets a rank begin; called once for each rank after start().
  void enter(std::int32_t rank);
  /// Returns what became possible, in order; the caller carries it out and empties it. Meanwhile
  /// more may be appended.
  [[nodiscard]] std::vector<Post>& posts() { return _posts; }

  /// Report that a posted send is complete, a posted receive has its data, or data is in place.
  void sent(Item item);
  void arrived(Item item);
  void written(Item item);
  /// Lets the rank's next operations into the window; called after sent() and arrived(), once for
  /// several of them.
  void advance(std::int32_t rank);

  /// Whether the rank's last operation has entered the window.
  [[nodiscard]] bool all_entered(std::int32_t rank) const {
    return _progress[index(rank)].order.done();
  }
  /// Returns the number of the rank's segments of which at least one operation has entered, or is
  /// next.
  [[nodiscard]] std::int32_t begun(std::int32_t rank) const {
    return _progress[index(rank)].order.begun();
  }
  /// Returns the number of the rank's segments, without those left out.
  [[nodiscard]] std::int32_t segments(std::int32_t rank) const {
    return _progress[index(rank)].order.segments();
  }
  /// Shortens the rank's pipeline, of which at least one segment that hasn't begun must remain.
  void leave_out_last(std::int32_t rank, std::int32_t segments) {
    _progress[index(rank)].order.leave_out_last(segments);
  }
  /// Whether everything is complete and in place.
  [[nodiscard]] bool finished() const { return _unfinished == 0 && _ranks_left == 0; }
  /// Returns the bytes of the states, which are kept for the next execution.
  [[nodiscard]] std::int64_t kept() const {
    return static_cast<std::int64_t>(_states.capacity() * sizeof(State));
  }
  /// Frees them. Requires finished().
  void release() { _states = std::vector<State>(); }
  /// Returns a number that the driver may keep with an operation from its post on; initially -1.
  [[nodiscard]] std::int32_t& tag(Item item) { return state(item).tag; }

private:
  struct State {
    std::int32_t reads, writes; ///< number it still waits for
    std::int32_t tag = -1;      ///< while a send waits: the state of the next send of its queue
    bool entered = false, open = false, has_data = false, left_out = false;
  };
  struct Progress {
    Expansion order;
    std::int64_t lowest = 0, next = 0; ///< positions: no open message before; next to enter
    std::int64_t recent = -1;    ///< where the states of its positions are in _recent; -1: not kept
    int sends = 0, receives = 0; ///< open ones
    bool all_entered = false;
  };
  /// Sends to one rank that have entered and aren't posted: states of the first and the last.
  struct Queue {
    std::int32_t first = -1, last = -1;
  };

  [[nodiscard]] std::size_t place(Item item) const {
    return index(item.segment) * _count + index(item.operation);
  }
  [[nodiscard]] State& state(Item item) { return _states[place(item)]; }
  [[nodiscard]] Item item_at(std::int32_t place) const {
    const auto count = static_cast<std::int32_t>(_count);
    return {place % count, place / count};
  }
  [[nodiscard]] std::int32_t& recent(const Progress& progress, std::int64_t position) {
    return _recent[static_cast<std::size_t>(progress.recent + (position & _recent_mask))];
  }
  /// Sets up the states of further segments, at least `segments` in all.
  void prepare(std::int32_t segments);
  void leave_out(std::size_t begin);
  void set_up_ranks(const schedule::Pipeline& pipeline);
  [[nodiscard]] bool has_room(Progress& progress, Direction direction);
  void enter(Progress& progress, Item item, const Operation& operation, State& state);
  void enqueue(Queue& queue, Item item, State& state);
  void post_from(Queue& queue);
  void read(Item item, State& state);
  void release(Item item, bool after_read);
  void post(Action action, Item item, const State& state) {
    _posts.push_back({action, item, _cause, state.writes == 0});
  }

  const Operations* _operations = nullptr;
  std::size_t _count = 0; ///< of operations in a segment
  int _window = 1;
  std::int32_t _segments = 0, _prepared = 0;
  IsEmpty _is_empty;
  std::vector<State> _states; ///< by segment, then operation
  std::vector<Progress> _progress;
  std::vector<Queue> _queues;
  std::vector<Expansion::Cursor> _cursors;
  std::vector<std::int32_t> _recent; ///< rings of states, by position
  std::int64_t _recent_mask = 0;
  std::vector<Post> _posts;
  Item _cause;
  std::int64_t _unfinished = 0; ///< operations that have entered
  std::int32_t _ranks_left = 0; ///< whose last operation hasn't entered
};

} // namespace thalweg::execution
