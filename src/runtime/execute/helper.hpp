#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <utility>
#include <vector>

namespace thalweg::runtime {

/// What an attempt to go on with something came to.
enum class Progress : std::uint8_t { none, some, done };

/// Work that is done bit by bit.
class Operation {
public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  /// Does what can be done without waiting for other ranks. Never throws, and isn't called any more
  /// once it is done.
  virtual Progress advance() = 0;
  /// Called instead of advance() if the helper ends before it is done: cancels what would keep
  /// MPI_Finalize from ending. Never throws.
  virtual void abandon() {}
};

/// A thread that carries out operations. Those of one lane follow each other in the order of add();
/// those of different lanes are carried out at once, bit by bit in turn, so that none waits for
/// another lane.
///
/// Without operations the thread sleeps. While all of them wait for messages it sleeps for a
/// sixteenth of the time since something happened, up to 1 ms: waiting takes hardly longer by that,
/// and a long wait costs the processor little.
class Helper {
public:
  using Lane = std::int64_t;

  /// Starts the thread, which handles only signals that it raises itself, and has as much stack as
  /// the program's main thread may have, since it calls the program's operators; 64 MiB where that
  /// is without limit. @throws std::system_error
  Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() { end(0); }

  /// Thread-safe; operations may call it, too.
  void add(Lane lane, std::unique_ptr<Operation> operation);
  /// Waits until all operations are done, and lets add() wait likewise from now on, each for at
  /// most so many nanoseconds: then nothing is carried out while the caller does something else.
  /// With 0 none waits, as in the beginning.
  void hold_up_callers(std::int64_t most_ns);
  /// Waits until all operations are done and ends the thread. When observe::monotonic_ns() is
  /// `end_ns` those that are left are abandoned: messages may still be in flight in their memory.
  void end(std::int64_t end_ns);

private:
  using Lanes = std::map<Lane, std::deque<std::unique_ptr<Operation>>>;
  void run();
  bool take_new(std::int64_t pause_ns);
  void wait_until_idle(std::unique_lock<std::mutex>& lock);
  bool advance();
  [[nodiscard]] bool is_late();

  Lanes _lanes; ///< of the thread alone
  std::mutex _mutex;
  std::condition_variable _changed;
  std::vector<std::pair<Lane, std::unique_ptr<Operation>>> _new;
  std::condition_variable _became_idle;
  bool _idle = true;              ///< there is no operation
  std::int64_t _most_wait_ns = 0; ///< of callers; 0: they don't wait
  bool _ending = false;
  std::int64_t _end_ns = 0;
  bool _runs = false;
  pthread_t _thread{}; ///< started last
};

} // namespace thalweg::runtime
