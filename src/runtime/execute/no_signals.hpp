#pragma once

#include <csignal>
#include <pthread.h>

namespace thalweg::runtime {

/// Blocks signals while it lives: a thread that is started now will leave them to the others, but
/// for those that it raises itself, by what the program lets it compute. If they were blocked, they
/// would end the process, though the program handles them.
class NoSignals {
public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGFPE, SIGSEGV, SIGBUS, SIGILL})
      sigdelset(&all, own);
    pthread_sigmask(SIG_BLOCK, &all, &_before);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &_before, nullptr); }

private:
  sigset_t _before{};
};

} // namespace thalweg::runtime
