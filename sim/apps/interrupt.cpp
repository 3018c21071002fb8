#include "sim/apps/interrupt.h"

#include <signal.h>  // NOLINT: sigaction is POSIX

#include <atomic>

#include "sim/core/output_file.h"

namespace weft::apps {
namespace {

std::atomic<Simulator*> running = nullptr;
static_assert(std::atomic<Simulator*>::is_always_lock_free);  // read by the handler

// The next one of this kind ends the program.
void end_by_next(int signal) {
  struct sigaction action {};
  action.sa_handler = end_by_signal;
  sigaction(signal, &action, nullptr);
}

extern "C" void on_interrupt(int signal) {
  if (Simulator* simulator = running.load()) simulator->request_stop();
  end_by_next(signal);
}

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void set_interrupted(int signal) {
  interrupted = true;
  end_by_next(signal);
}

}  // namespace

void stop_on_interrupt(Simulator& simulator) {
  running = &simulator;
  struct sigaction action {};
  sigaction(SIGINT, nullptr, &action);
  if (action.sa_handler == SIG_IGN) return;  // as under nohup, or in the background of a shell
  action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

void forget_simulation() {
  struct sigaction action {};
  sigaction(SIGINT, nullptr, &action);
  if (action.sa_handler == on_interrupt) end_by_next(SIGINT);
  running = nullptr;
}

const std::atomic<bool>& interrupt_flag() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = set_interrupted;
    sigaction(signal, &action, nullptr);
  }
  return interrupted;
}

}  // namespace weft::apps
