#include "sim/apps/interrupt.h"

#include <signal.h>  // NOLINT: sigaction is POSIX

#include <atomic>

#include "sim/core/output_file.h"

namespace weft::apps {
namespace {

std::atomic<Simulator*> running = nullptr;
static_assert(std::atomic<Simulator*>::is_always_lock_free);  // read by the handler

// Ctrl-C, and what batch systems and supervisors send.
constexpr int kInterrupts[] = {SIGINT, SIGTERM};

void handle(void (*handler)(int)) {
  for (const int signal : kInterrupts) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // as under nohup, or in the background of a shell
    action = {};
    action.sa_handler = handler;
    sigaction(signal, &action, nullptr);
  }
}

// A second one may come while the first is handled, in this thread or another.
std::atomic<bool> heeded = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_interrupt(int signal) {
  if (heeded.exchange(true)) end_by_signal(signal);
  if (Simulator* simulator = running.load()) simulator->request_stop();
}

std::atomic<bool> interrupted = false;

extern "C" void set_interrupted(int signal) {
  if (interrupted.exchange(true)) end_by_signal(signal);
}

}  // namespace

void stop_on_interrupt(Simulator& simulator) {
  running = &simulator;
  handle(on_interrupt);
}

void forget_simulation() {
  struct sigaction action {};
  sigaction(SIGINT, nullptr, &action);
  struct sigaction other {};
  sigaction(SIGTERM, nullptr, &other);
  if (action.sa_handler == on_interrupt || other.sa_handler == on_interrupt) handle(end_by_signal);
  running = nullptr;
}

const std::atomic<bool>& interrupt_flag() {
  handle(set_interrupted);
  return interrupted;
}

}  // namespace weft::apps
