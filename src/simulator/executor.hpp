#pragma once

#include "simulator/workload.hpp"

#include <vector>

namespace thalweg::simulator {

/// Operations in a window at most, complete ones among them, so that one slow message doesn't let a
/// rank run far ahead: as the executor's.
constexpr std::int64_t longest_window(int window) {
  return window > 16 ? std::int64_t{4} * window : 64;
}

/// Which transfers the ranks have posted: the rules of the runtime's executor, without times.
class Executor {
public:
  enum class Side : std::uint8_t {
    send,    ///< its send is posted
    receive, ///< its receive is posted
    write,   ///< it is writable
  };
  struct Post {
    MessageId message;
    Side side;
    MessageId cause; ///< whose completion made it possible, or no_message
  };

  Executor(const Workload& workload, int window);

  /// Each of these adds what it makes possible to posts(), which the caller empties.
  void start();
  /// After start(), once for each rank: it begins.
  void enter(Rank rank);
  void sent(MessageId message);
  /// Its receive, which is posted, has the data: it makes room in the window.
  void arrived(MessageId message);
  /// The data is in place.
  void received(MessageId message);
  std::vector<Post>& posts() { return _posts; }
  /// Whether all that the message overwrites or combines with is in place.
  [[nodiscard]] bool writable(MessageId message) const {
    return _messages[static_cast<std::size_t>(message)].writes == 0;
  }
  /// Whether all operations of all ranks have been posted.
  [[nodiscard]] bool all_posted() const;

private:
  struct RankState {
    std::size_t lowest = 0;      ///< no later than the lowest incomplete operation
    std::size_t next = 0;        ///< first operation that isn't in the window
    int sends = 0, receives = 0; ///< in the window and incomplete
  };
  struct MessageState {
    std::int32_t reads, writes; ///< still to wait for
    bool in_window = false;     ///< of its sender
    bool sent = false, received = false;
  };

  MessageState& state(MessageId message) { return _messages[static_cast<std::size_t>(message)]; }
  void advance(Rank rank);
  bool is_full(Rank rank);
  bool is_complete(Operation operation) const;
  void post_sends(ConnectionId connection);
  /// Of what waits for the message's sender (`sent`) or receiver.
  void release_dependents(MessageId message, bool sent);

  const Workload& _workload;
  int _window;
  std::size_t _longest_window;
  std::vector<RankState> _ranks;
  std::vector<MessageState> _messages;
  std::vector<std::size_t> _posted; ///< by connection: of its traffic
  std::vector<Post> _posts;
  MessageId _cause = no_message;
};

} // namespace thalweg::simulator
