#pragma once

#include "simulator/workload.hpp"

namespace thalweg::bench {

using simulator::MessageId;

/// The executor of all ranks in terms of a workload's messages: all that the SimGrid judge decides
/// by, which adds when things happen. Tests drive it without SimGrid.
class MessageExecutor {
public:
  using Action = execution::Executor::Action;

  /// The workload must outlive it.
  MessageExecutor(const simulator::Workload& workload, int window) : _workload(workload) {
    _executor.start(workload.operations, workload.pipeline, window, workload.is_empty());
  }
  /// Lets a rank begin; called once for each.
  void enter(collective::Rank rank) { _executor.enter(rank); }

  /// Report that a message's last byte has left, that it has arrived and its receive is posted, or
  /// that its data, or that of a local transfer, is in place.
  void sent(MessageId message) {
    _executor.sent(_workload.sending(message));
    _executor.advance(_workload.of(message).from);
  }
  void arrived(MessageId message) {
    _executor.arrived(_workload.receiving(message));
    _executor.advance(_workload.of(message).to);
  }
  void written(MessageId message) { _executor.written(_workload.receiving(message)); }

  /// Calls carry_out(action, message, cause) for everything that became possible, once each and in
  /// order. `cause` is the message whose completion made it possible, or no_message. carry_out may
  /// report, and may call hand_out() again.
  template <class CarryOut>
  void hand_out(CarryOut carry_out) {
    auto& posts = _executor.posts();
    while (_next < posts.size()) {
      const execution::Executor::Post post = posts[_next++];
      carry_out(post.action, _workload.message(post.item),
                post.cause.operation == execution::no_operation ? simulator::no_message
                                                                : _workload.message(post.cause));
    }
    posts.clear();
    _next = 0;
  }

  /// Whether everything is complete and in place.
  [[nodiscard]] bool finished() const { return _executor.finished(); }

private:
  const simulator::Workload& _workload;
  execution::Executor _executor;
  std::size_t _next = 0; ///< of the executor's posts
};

} // namespace thalweg::bench
