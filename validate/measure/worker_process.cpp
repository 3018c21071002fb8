#include "worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

namespace weft::measure {
namespace {

volatile std::sig_atomic_t caught = 0;

void on_signal(int) { caught = 1; }

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  return ends;
}

[[noreturn]] void become_worker(const WorkerOptions& options, const Environment& env) {
  setpgid(0, 0);
  for (const auto& [name, value] : env) setenv(name.c_str(), value.c_str(), 1);
  for (const int descriptor : {options.input, options.output}) fcntl(descriptor, F_SETFD, 0);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // what NCCL prints is no result
  std::vector<std::string> words = to_arguments(options);
  words.insert(words.begin(), "weft-measure");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  _exit(127);
}

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: waiting ends
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return caught != 0; }

WorkerProcess::WorkerProcess(WorkerOptions options, const Environment& env) {
  const std::array<int, 2> points = make_pipe();
  const std::array<int, 2> answers = make_pipe();
  options.input = points[0];
  options.output = answers[1];
  child_ = fork();
  if (child_ < 0) throw std::system_error(errno, std::generic_category(), "cannot start a worker");
  if (child_ == 0) become_worker(options, env);
  setpgid(child_, child_);
  close(points[0]);
  close(answers[1]);
  to_child_ = points[1];
  from_child_ = answers[0];
}

void WorkerProcess::kill() {
  if (child_ > 0) ::kill(-child_, SIGKILL);
}

WorkerProcess::~WorkerProcess() {
  constexpr double kPatienceS = 10;
  close(to_child_);
  const double deadline = now_s() + kPatienceS;
  while (waitpid(child_, nullptr, WNOHANG) == 0) {
    if (now_s() > deadline || interrupted()) kill();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill();  // forks that outlived it
  close(from_child_);
}

bool WorkerProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  return write(to_child_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::optional<std::string> WorkerProcess::receive(double timeout_s) {
  const double deadline = now_s() + timeout_s;
  std::array<char, 65536> block{};
  while (pending_.find('\n') == std::string::npos) {
    const double left_ms = (deadline - now_s()) * 1e3;
    if (left_ms <= 0 || interrupted()) return std::nullopt;
    pollfd waiting{.fd = from_child_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, static_cast<int>(std::min(left_ms, 1e6)) + 1) <= 0) continue;
    const ssize_t count = read(from_child_, block.data(), block.size());
    if (count <= 0) return std::nullopt;
    pending_.append(block.data(), static_cast<std::size_t>(count));
  }
  const std::size_t end = pending_.find('\n');
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return line;
}

}  // namespace weft::measure
