#include "worker.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <thread>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cuda_check.h"
#include "device_points.h"
#include "inventory.h"
#include "overlap.h"
#include "refusal.h"
#include "timing.h"

namespace weft::measure {
namespace {

constexpr int kFailed = 3;

void write_line(int descriptor, std::string text) {
  text += '\n';
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(descriptor, text.data() + written, text.size() - written);
    if (count <= 0) _exit(kFailed);
    written += static_cast<std::size_t>(count);
  }
}

// Byte by byte: a line is short, and nothing behind it may be swallowed.
std::string read_line(int descriptor) {
  std::string line;
  char letter = 0;
  while (read(descriptor, &letter, 1) == 1 && letter != '\n') line += letter;
  return line;
}

std::string on_one_line(std::string text) {
  for (char& letter : text) {
    if (letter == '\n' || letter == '\r') letter = ' ';
  }
  return text;
}

// Members depend on each other: one that fails ends the worker, and the controller starts another.
[[noreturn]] void fail(int output, const char* what) {
  write_line(output, "!" + on_one_line(what));
  _exit(kFailed);
}

Measurement measure_on_device(const Point& point) {
  if (point.kind == "launch") return measure_launch(point);
  if (point.kind == "memory") return measure_memory(point);
  if (point.kind == "gemm") return measure_gemm(point);
  if (point.kind == "attention") return measure_attention(point);
  if (point.kind == "copy") return measure_copy(point);
  throw std::runtime_error("unknown kind " + point.kind);
}

// A failed point leaves the others alone, unless it took CUDA with it.
void serve_device(const WorkerOptions& options) {
  const Nvml nvml;
  check(cudaSetDevice(0), "device");
  const std::string pci = pci_of(0);
  write_line(options.output, "ready");
  for (std::string line = read_line(options.input); !line.empty(); line = read_line(options.input)) {
    try {
      const Measurement measurement = measure_on_device(Point::parse(line));
      write_line(options.output, record_members(measurement, clock_json(nvml, pci)));
    } catch (const std::exception& error) {
      static_cast<void>(cudaGetLastError());
      if (cudaDeviceSynchronize() != cudaSuccess) fail(options.output, error.what());
      write_line(options.output, "!" + on_one_line(error.what()));
    }
  }
}

LayoutNumbers numbers_of(Layout layout, int ranks) {
  switch (layout) {
    case Layout::kThreads:
      return {.threads = ranks};
    case Layout::kProcesses:
      return {.processes = ranks};
    case Layout::kSingle:
      return {.gpus_per_thread = ranks};
  }
  return {};
}

void run_member(SharedArea& area, int rank, const WorkerOptions& options) {
  try {
    const bool single = options.layout == Layout::kSingle;
    SharedTeam team{area, rank, single ? 1 : options.ranks};
    std::vector<int> devices;
    for (int gpu = 0; gpu < (single ? options.ranks : 1); ++gpu) devices.push_back(single ? gpu : rank);
    const Conversation conversation{.next = [&options] { return read_line(options.input); },
                                    .answer = [&options](const std::string& text) { write_line(options.output, text); }};
    serve_team(team, devices, numbers_of(options.layout, options.ranks), options.kind == to_string(Worker::kOverlap),
               options.buffer_bytes, conversation);
  } catch (const std::exception& error) {
    fail(options.output, error.what());
  }
}

void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

// Before any use of CUDA, which does not survive a fork.
void run_processes(SharedArea& area, const WorkerOptions& options) {
  for (int rank = 1; rank < options.ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) fail(options.output, "cannot fork");
    if (child == 0) {
      end_with_parent();
      run_member(area, rank, options);
      _exit(0);
    }
  }
  run_member(area, 0, options);
  for (int rank = 1; rank < options.ranks; ++rank) waitpid(-1, nullptr, 0);
}

void run_threads(SharedArea& area, const WorkerOptions& options) {
  std::vector<std::thread> others;
  const int members = options.layout == Layout::kSingle ? 1 : options.ranks;
  for (int rank = 1; rank < members; ++rank) others.emplace_back([&, rank] { run_member(area, rank, options); });
  run_member(area, 0, options);
  for (std::thread& thread : others) thread.join();
}

std::string peers_text(const NodeFacts& node) {
  std::string text;
  for (const auto& [from, to] : node.peers) text += " " + std::to_string(from) + ">" + std::to_string(to);
  return text;
}

void answer_inventory(const WorkerOptions& options) {
  try {
    const Inventory inventory = take_inventory(options.hostname);
    const NodeFacts& node = inventory.node;
    write_line(options.output, std::to_string(node.gpus) + " " + std::to_string(node.memory_bytes) + peers_text(node));
    write_line(options.output, inventory.machine);
  } catch (const std::exception& error) {
    fail(options.output, error.what());
  }
}

}  // namespace

std::vector<std::string> to_arguments(const WorkerOptions& options) {
  return {"--worker",
          "kind=" + options.kind,
          std::string{"layout="} + to_string(options.layout),
          "ranks=" + std::to_string(options.ranks),
          "input=" + std::to_string(options.input),
          "output=" + std::to_string(options.output),
          "buffer_bytes=" + std::to_string(options.buffer_bytes),
          "target_us=" + std::to_string(static_cast<std::int64_t>(options.target_us)),
          std::string{"hostname="} + (options.hostname ? "1" : "0")};
}

WorkerOptions parse_worker(const std::vector<std::string>& arguments) {
  std::string text = "worker";
  for (std::size_t i = 1; i < arguments.size(); ++i) text += " " + arguments[i];
  const Point words = Point::parse(text);
  WorkerOptions options;
  options.kind = words.text_of("kind");
  for (const Layout layout : {Layout::kThreads, Layout::kProcesses, Layout::kSingle}) {
    if (words.text_of("layout") == to_string(layout)) options.layout = layout;
  }
  options.ranks = static_cast<int>(words.number_of("ranks", 1));
  options.input = static_cast<int>(words.number_of("input", 0));
  options.output = static_cast<int>(words.number_of("output", 1));
  options.buffer_bytes = words.number_of("buffer_bytes");
  options.target_us = static_cast<double>(words.number_of("target_us", 50'000));
  options.hostname = words.number_of("hostname") != 0;
  return options;
}

void serve_team(Team& team, const std::vector<int>& devices, const LayoutNumbers& layout, bool overlap,
                std::int64_t buffer_bytes, const Conversation& conversation) {
  std::unique_ptr<Nvml> nvml;
  if (team.rank() == 0) nvml = std::make_unique<Nvml>();
  const std::string pci = team.rank() == 0 ? pci_of(devices.front()) : std::string{};
  NcclRanks ranks{team, devices, buffer_bytes};
  std::unique_ptr<Overlap> beside;
  if (overlap) beside = std::make_unique<Overlap>(team, ranks);
  team.barrier();
  if (team.rank() == 0) conversation.answer("ready");
  char text[Team::kBoardBytes] = {};
  const auto next = [&] {
    if (team.rank() == 0) std::snprintf(text, sizeof text, "%s", conversation.next().c_str());
    team.broadcast(text, sizeof text);
    return std::string{text};
  };
  for (std::string line = next(); !line.empty(); line = next()) {
    std::string answer;
    try {
      const Point point = Point::parse(line);
      const Measurement measurement = beside ? beside->measure(point, layout) : measure_collective(point, layout, team, ranks);
      if (team.rank() == 0) answer = record_members(measurement, clock_json(*nvml, pci));
    } catch (const Refusal& refusal) {
      answer = std::string{"!"} + refusal.what();
    }
    if (team.rank() == 0) conversation.answer(answer);
  }
  ranks.synchronize();
  team.barrier();
}

int run_worker(const WorkerOptions& options) {
  end_with_parent();
  set_point_target_us(options.target_us);
  if (options.kind == "inventory") {
    answer_inventory(options);
  } else if (options.kind == to_string(Worker::kDevice)) {
    try {
      serve_device(options);
    } catch (const std::exception& error) {
      fail(options.output, error.what());
    }
  } else if (options.layout == Layout::kProcesses) {
    run_processes(SharedArea::create(), options);
  } else {
    run_threads(SharedArea::create(), options);
  }
  _exit(0);
}

}  // namespace weft::measure
