#pragma once

#include "probe/statistics.hpp"

#include <string>

/// The last resorts against hanging, where no message can be waited for with patience: in MPI_Init,
/// in MPI_Finalize, and in a collective call one of whose ranks has died. One per process; built on
/// alarm(), whose handlers write a line and leave.
namespace thalweg::probe::watchdog {

/// The process gives up, saying so, unless `finishing` is called within `seconds`.
void start(unsigned seconds);

/// What this process says if a collective call takes too long: the ranks that don't say it are
/// those that died or stopped.
void set_complaint(const std::string& line, bool to_stdout);

/// While it lives, the process complains and gives up after `limit`.
class CollectiveCall {
public:
  explicit CollectiveCall(Nanoseconds limit);
  ~CollectiveCall();
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;

private:
  Nanoseconds _begin;
  unsigned _left; // of the time given to start()
};

/// All is measured and written: the process leaves as if all were well after `seconds` at most.
void finishing(unsigned seconds);

} // namespace thalweg::probe::watchdog
