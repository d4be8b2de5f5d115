#pragma once

#include "probe/statistics.hpp"

#include <string>

/// The last resorts against hanging where no message can be waited for with patience: in MPI_Init,
/// in MPI_Finalize, and in a collective call one of whose ranks has died. There is one per process;
/// it uses alarm(), whose handlers write a line and leave.
namespace thalweg::probe::watchdog {

/// Ends the process with a message, unless `finishing` is called within `seconds`.
void start(unsigned seconds);

/// Sets the line to print if a collective call takes too long: the ranks that don't print it have
/// died or stopped.
void set_complaint(const std::string& line, bool to_stdout);

/// While it lives, the process reports and gives up after `limit`.
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

/// Called when all is measured and written: ends the process as successful after at most `seconds`.
void finishing(unsigned seconds);

} // namespace thalweg::probe::watchdog
