#include "sim/apps/interrupt.h"

#include <signal.h>  // NOLINT: sigaction is POSIX

#include <atomic>

namespace weft::apps {
namespace {

std::atomic<Simulator*> running = nullptr;
static_assert(std::atomic<Simulator*>::is_always_lock_free);  // read by the handler

extern "C" void on_interrupt(int) {
  if (Simulator* simulator = running.load()) simulator->request_stop();
  // The handler was installed with SA_RESETHAND: the next signal finds the default action.
}

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void set_interrupted(int) { interrupted = true; }

}  // namespace

void stop_on_interrupt(Simulator& simulator) {
  running = &simulator;
  struct sigaction action {};
  sigaction(SIGINT, nullptr, &action);
  if (action.sa_handler == SIG_IGN) return;  // as under nohup, or in the background of a shell
  action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

void forget_simulation() {
  struct sigaction action {};
  sigaction(SIGINT, nullptr, &action);
  if (action.sa_handler == on_interrupt) {
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGINT, &action, nullptr);
  }
  running = nullptr;
}

const std::atomic<bool>& interrupt_flag() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = set_interrupted;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
  return interrupted;
}

}  // namespace weft::apps
