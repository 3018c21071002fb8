#include "sim/apps/interrupt.h"

#include <signal.h>  // NOLINT: sigaction is POSIX
#include <time.h>    // NOLINT: clock_gettime may be called by a handler

#include <atomic>
#include <cstdint>
#include <mutex>

#include "sim/apps/listener.h"
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

// `timeout` and launchers signal a program and then its whole group: signals this close are one.
constexpr std::int64_t kOneInterruptNs = 300'000'000;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// When the first signal came; 0: none did. Another may come while it is handled, in this thread or another.
std::atomic<std::int64_t> first_ns = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// Returns whether somebody does not want to wait for what the first signal asked for.
bool is_second_interrupt() {
  const std::int64_t now = now_ns();
  std::int64_t first = 0;
  return !first_ns.compare_exchange_strong(first, now) && now - first > kOneInterruptNs;
}

extern "C" void on_interrupt(int signal) {
  if (is_second_interrupt()) end_by_signal(signal);
  if (Simulator* simulator = running.load()) simulator->request_stop();
}

std::atomic<bool> interrupted = false;

extern "C" void set_interrupted(int signal) {
  if (is_second_interrupt()) end_by_signal(signal);
  interrupted = true;
}

// Guards `running` where another thread may ask it to stop; a signal handler takes no lock.
std::mutex of_running;
Listener* hearing = nullptr;

}  // namespace

Listener* listener() { return hearing; }

Listening::Listening(Listener& listener) {
  hearing = &listener;
  interrupted = false;
}
Listening::~Listening() {
  hearing = nullptr;
  interrupted = false;
}

void request_interrupt() {
  const std::lock_guard lock{of_running};
  interrupted = true;
  if (Simulator* simulator = running.load()) simulator->request_stop();
}

void stop_on_interrupt(Simulator& simulator) {
  const std::lock_guard lock{of_running};
  running = &simulator;
  if (hearing == nullptr) {
    handle(on_interrupt);
  } else if (interrupted) {
    simulator.request_stop();
  }
}

void forget_simulation() {
  const std::lock_guard lock{of_running};
  struct sigaction action {};
  sigaction(SIGINT, nullptr, &action);
  struct sigaction other {};
  sigaction(SIGTERM, nullptr, &other);
  if (action.sa_handler == on_interrupt || other.sa_handler == on_interrupt) handle(end_by_signal);
  running = nullptr;
}

const std::atomic<bool>& interrupt_flag() {
  if (hearing == nullptr) handle(set_interrupted);
  return interrupted;
}

}  // namespace weft::apps
