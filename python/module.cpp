// The extension module weft._weft: commands of `weft` as function calls. weft/__init__.py gives them their names and arguments.
//
// A command runs on a thread of its own, without Python's lock. The thread that called waits, and while it does, it runs what
// Python has for it: the handler of Ctrl-C, and the caller's function for progress.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sim/apps/interrupt.h"
#include "sim/apps/listener.h"
#include "sim/apps/program.h"
#include "sim/core/error.h"
#include "sim/core/printable.h"
#include "sim/core/version.h"
#include "sim/output/explain/explain.h"
#include "sim/scenario/catalog.h"

namespace py = pybind11;

namespace weft::python {
namespace {

constexpr std::chrono::milliseconds kLook{20};  // between two looks at signals and progress

// One command at a time, of any thread.
std::timed_mutex& one_command() {
  static std::timed_mutex mutex;
  return mutex;
}
// The thread that waits for a command, whose own functions are called meanwhile.
thread_local bool is_waiting = false;

class Progress final : public apps::Listener {
 public:
  struct State {
    std::string unit;
    std::uint64_t done = 0;
    std::uint64_t total = 0;
  };

  void on_progress(std::string_view unit, std::uint64_t done, std::uint64_t total) override {
    const std::lock_guard lock{mutex_};
    state_ = State{std::string{unit}, done, total};
  }
  // Returns the state that came since the last call.
  std::optional<State> take() {
    const std::lock_guard lock{mutex_};
    return std::exchange(state_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<State> state_;
};

// A command on its thread.
class Running {
 public:
  explicit Running(apps::Call call) : call_{std::move(call)} {
    call_.listener = &progress_;
    thread_ = std::thread{[this] { run(); }};
  }
  ~Running() {
    if (thread_.joinable()) thread_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // True once it is over.
  bool wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock{mutex_};
    return ended_.wait_for(lock, at_most, [this] { return is_over_; });
  }
  apps::Outcome finish() {
    thread_.join();
    if (error_) std::rethrow_exception(error_);
    return std::move(outcome_);
  }
  Progress& progress() { return progress_; }

 private:
  void run() {
    try {
      outcome_ = apps::call_command(call_);
    } catch (...) {
      error_ = std::current_exception();
    }
    const std::lock_guard lock{mutex_};
    is_over_ = true;
    ended_.notify_all();
  }

  apps::Call call_;
  Progress progress_;
  apps::Outcome outcome_;
  std::exception_ptr error_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread thread_;
};

// Runs the handlers of signals that came, and then `fn`; what either raises ends the command, and is kept for its end.
template <class Fn>
void look(std::optional<py::error_already_set>& raised, Fn&& fn) {
  if (raised) return;
  try {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set{};
    fn();
  } catch (py::error_already_set& error) {
    raised.emplace(error);
    apps::request_interrupt();
  }
}

class Waiting {
 public:
  Waiting() {
    if (is_waiting) throw std::runtime_error("weft: a command cannot be called from the progress function of another one");
    is_waiting = true;
  }
  ~Waiting() { is_waiting = false; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};

[[noreturn]] void raise(const char* type, const py::object& argument) {
  const py::object made = py::module_::import("weft._errors").attr(type);
  PyErr_SetObject(made.ptr(), made(argument).ptr());
  throw py::error_already_set{};
}

[[noreturn]] void raise_mistake(const ConfigError& error) {
  py::list told;
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    py::dict entry;
    entry["file"] = diagnostic.where.file;
    entry["line"] = diagnostic.where.line;
    entry["column"] = diagnostic.where.column;
    entry["key"] = diagnostic.key;
    entry["message"] = diagnostic.message;
    entry["note"] = diagnostic.note;
    entry["text"] = format(diagnostic);
    told.append(entry);
  }
  raise("ConfigError", told);
}

// (exit status, text of the result, the exception that ended it early or None).
py::tuple call(std::vector<std::string> arguments, std::map<std::string, std::string> texts, const py::object& on_progress) {
  const Waiting waiting;
  std::unique_lock<std::timed_mutex> turn{one_command(), std::defer_lock};
  bool is_mine = false;
  while (!is_mine) {
    {
      const py::gil_scoped_release released;
      is_mine = turn.try_lock_for(kLook);
    }
    if (!is_mine && PyErr_CheckSignals() != 0) throw py::error_already_set{};
  }
  std::optional<py::error_already_set> raised;
  Running running{{.arguments = std::move(arguments), .texts = std::move(texts), .listener = nullptr}};
  bool is_over = false;
  while (!is_over) {
    {
      const py::gil_scoped_release released;
      is_over = running.wait(kLook);
    }
    look(raised, [&] {
      const std::optional<Progress::State> state = running.progress().take();
      if (state && !on_progress.is_none()) on_progress(state->unit, state->done, state->total);
    });
  }
  try {
    const apps::Outcome outcome = running.finish();
    if (!raised) return py::make_tuple(outcome.exit_code, py::bytes(outcome.text), py::none());
    return py::make_tuple(outcome.exit_code, py::bytes(outcome.text), raised->value());
  } catch (const ConfigError& error) {
    if (raised) throw *raised;
    raise_mistake(error);
  } catch (const InternalError& error) {
    raise("InternalError", py::str(printable_lines(error.what())));
  }
}

// The command line: what the program does, in this process.
int main(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"weft"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  const py::gil_scoped_release released;
  return apps::run_program(static_cast<int>(argv.size()), argv.data());
}

// Calls what may be asked for by name; a name that it does not know is a ConfigError.
template <class Fn>
auto told(Fn&& fn) {
  try {
    return fn();
  } catch (const ConfigError& error) {
    raise_mistake(error);
  }
}

std::vector<std::pair<std::string, std::string>> names(const std::string& kind) {
  return told([&] {
    std::vector<std::pair<std::string, std::string>> found;
    for (const scenario::CatalogEntry& entry : scenario::catalog(scenario::catalog_kind(kind)))
      found.emplace_back(entry.name, entry.summary);
    return found;
  });
}

std::string explain(const std::string& thing) {
  return told([&] { return output::explain(thing); });
}

}  // namespace
}  // namespace weft::python

PYBIND11_MODULE(_weft, module) {
  module.doc() = "Commands of weft; use the module weft, which names them.";
  module.def("call", &weft::python::call, py::arg("arguments"), py::arg("texts"), py::arg("progress"));
  module.def("main", &weft::python::main, py::arg("arguments"));
  module.def("names", &weft::python::names, py::arg("kind"));
  module.def("explain", &weft::python::explain, py::arg("thing"));
  module.attr("version") = std::string{weft::version()};
  module.attr("commit") = std::string{weft::commit()};
}
