#pragma once

#include <csignal>
#include <pthread.h>

namespace thalweg::runtime {

/// Blocks all signals while it lives: a thread that is started now will leave them to the others.
class NoSignals {
public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &_before);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &_before, nullptr); }

private:
  sigset_t _before{};
};

} // namespace thalweg::runtime
