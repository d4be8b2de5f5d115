#pragma once

#include "execution/expansion.hpp"

#include <functional>

namespace thalweg::execution {

/// Operations that a rank has before it at most from its lowest open message on, complete ones
/// among them, so that one slow message doesn't let it run far ahead of the others.
[[nodiscard]] constexpr std::int64_t longest_window(int window) {
  return window > 16 ? std::int64_t{4} * window : 64;
}

/// What one or several ranks do next: the rules that runtime, simulator and judges share. The
/// driver is told what to do by posts(), carries it out, and says what has become of it.
///
/// - **Window.** A rank's operations enter its window one after another, in the order (step +
///   segment * period, segment, from, to). At most `window` sends and,
///   apart, `window` receives in it are open. A send is open until it is complete, a receive until
///   its data has arrived. A local transfer takes no room. From the lowest open message on there
///   are at most longest_window() operations. What carries no data is left out, at both ends alike:
///   it neither takes room nor holds anything up.
/// - **Receives** are posted as they enter. What arrived is written once nobody needs what
///   it overwrites; until then, or if it is to be combined, it lies in memory of the driver.
/// - **Sends** are posted once what they read is there, and in their order among those to the same
///   rank; other ranks' sends they don't wait for.
/// - **A local transfer** reads, into memory of the driver, once what it reads is there; that alone
///   lets others overwrite it. It waits for nothing else, not for other local transfers
///   either.
/// - **Conflicts** are between operations of the same segment only, as DependencyFinder finds them.
///   A send holds up who overwrites what it reads until it is complete. It does so even if the
///   driver sends a copy: what waits for what depends on the schedule, not on where data lies.
///
/// Nothing deadlocks, whatever is buffered and however wide the windows are, even different ones at
/// the two ends. For take the lowest message, in the order of all ranks, that isn't complete. All
/// below it are, so at both ends it is within the window, and no send is ahead of it in its queue.
/// What its send reads was written by operations of earlier steps of its segment: these wait only
/// for operations that are lower too, whose messages are complete; so, step by step, they are
/// written. Hence it is posted at both ends, and completes.
///
/// All ranks' state is kept for all segments: 16 B per operation and segment.
class Executor {
public:
  enum class Action : std::uint8_t {
    send,    ///< start sending; say sent()
    receive, ///< start receiving; say arrived(), then await `write`
    read,    ///< of a local transfer: read at once, then await `write`
    write,   ///< what arrived or was read is to be put in place; say written()
  };
  struct Post {
    Action action;
    Item item;
    Item cause; ///< whose completion made it possible; no_operation: enter()
    /// Of a receive or read: whether its data may be put in place at once, provided that what was
    /// posted before has been carried out. `write` comes all the same.
    bool in_place;
  };
  /// Whether an operation carries nothing in a segment. Empty: every one carries something.
  using IsEmpty = std::function<bool(Item)>;

  /// Begins anew. `operations` must outlive the execution.
  /// @throws std::length_error if operations * segments is 2^31 or more
  void start(const Operations& operations, const schedule::Pipeline& pipeline, int window,
             const IsEmpty& is_empty = {});
  /// After start(), once for each rank: it begins.
  void enter(std::int32_t rank);
  /// What became possible, in order; the caller carries it out and empties it. More may come at its
  /// end meanwhile.
  [[nodiscard]] std::vector<Post>& posts() { return _posts; }

  /// A posted send is complete; a posted receive has its data, or something is in place.
  void sent(Item item);
  void arrived(Item item);
  void written(Item item);
  /// Lets the rank's next operations into the window: to be called after sent() and arrived(), once
  /// after several of them.
  void advance(std::int32_t rank);

  /// Whether the rank's last operation has entered the window.
  [[nodiscard]] bool all_entered(std::int32_t rank) const {
    return _progress[static_cast<std::size_t>(rank)].order.done();
  }
  /// Whether all is complete and in place.
  [[nodiscard]] bool finished() const { return _unfinished == 0; }
  /// A number that the driver may keep with an operation from its post on; at first -1.
  [[nodiscard]] std::int32_t& tag(Item item) { return state(item).tag; }

private:
  struct State {
    std::int32_t reads, writes; ///< still to wait for
    std::int32_t tag = -1;      ///< while a send waits: the state of the next one of its queue
    bool entered = false, open = false, has_data = false, left_out = false;
  };
  struct Progress {
    Expansion order;
    std::int64_t lowest = 0, next = 0; ///< positions: of no open message before, and to enter
    std::int64_t recent = -1; ///< where its positions' states are kept in _recent; -1: needn't be
    int sends = 0, receives = 0; ///< that are open
  };
  /// Sends to one rank that have entered and aren't posted: states of the first and the last.
  struct Queue {
    std::int32_t first = -1, last = -1;
  };

  [[nodiscard]] std::size_t place(Item item) const {
    return static_cast<std::size_t>(item.segment) * _operations->size() +
           static_cast<std::size_t>(item.operation);
  }
  [[nodiscard]] State& state(Item item) { return _states[place(item)]; }
  [[nodiscard]] Item item_at(std::int32_t place) const {
    const auto size = static_cast<std::int32_t>(_operations->size());
    return {place % size, place / size};
  }
  [[nodiscard]] std::int32_t& recent(const Progress& progress, std::int64_t position) {
    return _recent[static_cast<std::size_t>(progress.recent + (position & _recent_mask))];
  }
  void leave_out(const IsEmpty& is_empty);
  void set_up_ranks(const schedule::Pipeline& pipeline);
  [[nodiscard]] bool has_room(Progress& progress, Direction direction);
  void enter(Progress& progress, Item item);
  void enqueue(Item item, State& state);
  void post_from(Queue& queue);
  void read(Item item, State& state);
  void release(Item item, bool after_read);
  void post(Action action, Item item) {
    _posts.push_back({action, item, _cause, state(item).writes == 0});
  }

  const Operations* _operations = nullptr;
  int _window = 1;
  std::vector<State> _states; ///< by segment, then operation
  std::vector<Progress> _progress;
  std::vector<Queue> _queues;
  std::vector<Expansion::Cursor> _cursors;
  std::vector<std::int32_t> _recent; ///< rings of states, by position
  std::int64_t _recent_mask = 0;
  std::vector<Post> _posts;
  Item _cause;
  std::int64_t _unfinished = 0;
};

} // namespace thalweg::execution
