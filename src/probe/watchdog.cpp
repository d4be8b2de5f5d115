#include "probe/watchdog.hpp"

#include "probe/channel.hpp"

#include <csignal>
#include <unistd.h>

namespace thalweg::probe::watchdog {
namespace {

constexpr int gave_up = 1;
/// The launcher ends all ranks once one has given up; until then each can report.
constexpr unsigned seconds_to_complain = 2;

std::string complaint; // set before any handler may read it
int complain_to = STDERR_FILENO;

extern "C" void out_of_time(int) {
  static constexpr char text[] = "thalweg-probe: still not finished long after the time budget; a "
                                 "host died or stopped answering\n";
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(gave_up);
}

extern "C" void give_up(int) { _exit(gave_up); }

extern "C" void complain(int) {
  (void)!write(complain_to, complaint.data(), complaint.size());
  std::signal(SIGALRM, give_up);
  alarm(seconds_to_complain);
}

extern "C" void leave(int) { _exit(0); }

} // namespace

void start(unsigned seconds) {
  std::signal(SIGALRM, out_of_time);
  alarm(seconds);
}

void set_complaint(const std::string& line, bool to_stdout) {
  complaint = line;
  complain_to = to_stdout ? STDOUT_FILENO : STDERR_FILENO;
}

CollectiveCall::CollectiveCall(Nanoseconds limit) : _begin(now()) {
  std::signal(SIGALRM, complain);
  _left = alarm(static_cast<unsigned>(limit / 1'000'000'000) + 1);
}

CollectiveCall::~CollectiveCall() {
  std::signal(SIGALRM, out_of_time);
  const auto passed = static_cast<unsigned>((now() - _begin) / 1'000'000'000);
  alarm(_left > passed ? _left - passed : 1);
}

void finishing(unsigned seconds) {
  std::signal(SIGALRM, leave);
  alarm(seconds);
}

} // namespace thalweg::probe::watchdog
