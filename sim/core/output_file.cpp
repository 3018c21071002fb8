#include "sim/core/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>  // NOLINT: signal handlers are POSIX
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <streambuf>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/capture_text.h"
#include "sim/core/error.h"
#include "sim/core/unfinished.h"
#include "sim/core/used_files.h"

namespace weft {
namespace detail {

class DescriptorBuffer final : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_{descriptor} { setp(buffer_.data(), buffer_.data() + buffer_.size()); }

  [[nodiscard]] int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }

  int sync() override {
    const char* at = pbase();
    while (error_ == 0 && at < pptr()) {
      const ssize_t written = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
      if (written >= 0) {
        at += written;
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return error_ == 0 ? 0 : -1;
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 16;
  int descriptor_;
  int error_ = 0;
  std::vector<char> buffer_ = std::vector<char>(kBytes);
};

}  // namespace detail

namespace {

namespace fs = std::filesystem;

constexpr int kTemporaryNames = 1000;  // of temporary files that are tried

ConfigError cannot_write(const std::string& path, const std::string& why) {
  return ConfigError(fmt::format("cannot write '{}': {}", path, why));
}

// The file that is replaced gives its permissions, and its owner where this user may.
void take_permissions(int descriptor, const fs::path& replaced) {
  struct stat status {};
  if (stat(replaced.c_str(), &status) != 0) return;
  struct stat made {};
  fstat(descriptor, &made);
  if (made.st_uid != status.st_uid || made.st_gid != status.st_gid) {
    if (fchown(descriptor, status.st_uid, status.st_gid) != 0) errno = 0;  // then it is this user's
  }
  fchmod(descriptor, status.st_mode & 07777U);
}

std::streambuf* captured = nullptr;  // none: standard output is

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGPIPE};

}  // namespace

struct OutputFile::State {
  std::string path;  // as the user wrote it
  fs::path target;   // what it stands for
  std::string temporary;
  detail::Unfinished* place = nullptr;
  int descriptor = -1;
  std::optional<detail::DescriptorBuffer> buffer;
  std::ostream stream{nullptr};

  // A file of its own in the folder of the target.
  void make_temporary() {
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path{"."};
    for (int i = 0; i < kTemporaryNames && descriptor < 0; ++i) {
      temporary = (folder / fmt::format(".weft-{}-{}.tmp", getpid(), i)).string();
      std::error_code ignored;
      if (fs::exists(fs::symlink_status(temporary, ignored))) continue;
      place = detail::Unfinished::add(temporary);  // before it is there, so that no signal can come in between
      descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor >= 0) return;
      const int problem = errno;
      forget_temporary();
      if (problem != EEXIST) throw cannot_write(path, std::strerror(problem));
    }
    temporary.clear();
    throw cannot_write(path, "no name is left for a temporary file");
  }

  void forget_temporary() {
    if (place != nullptr) place->forget();
    place = nullptr;
    temporary.clear();
  }

  // 0, or what went wrong.
  int close_descriptor() {
    if (descriptor < 0) return 0;
    const int problem = ::close(std::exchange(descriptor, -1)) == 0 ? 0 : errno;
    return problem == EINTR ? 0 : problem;
  }

  ~State() {
    close_descriptor();
    if (temporary.empty()) return;
    unlink(temporary.c_str());
    forget_temporary();
  }
};

OutputFile::OutputFile(const std::string& path) : state_{std::make_unique<State>()} {
  State& file = *state_;
  file.path = path;
  if (is_standard_output(path)) {
    file.stream.rdbuf(captured != nullptr ? captured : std::cout.rdbuf());
    return;
  }
  begin_output(path);
  const std::optional<int> open_file = descriptor_named(path);
  if (open_file || is_special_file(path)) {
    file.descriptor = open_file ? fcntl(*open_file, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.descriptor < 0) throw cannot_write(path, std::strerror(errno));
  } else {
    file.target = behind_links(path);
    file.make_temporary();
    take_permissions(file.descriptor, file.target);
  }
  file.stream.rdbuf(&file.buffer.emplace(file.descriptor));
}

OutputFile::~OutputFile() = default;

std::ostream& OutputFile::stream() { return state_->stream; }

void OutputFile::commit() {
  State& file = *state_;
  file.stream.flush();
  if (file.descriptor < 0) {
    if (!file.stream) throw ConfigError("cannot write to standard output");
    return;
  }
  int problem = file.buffer->error();
  if (const int closing = file.close_descriptor(); problem == 0) problem = closing;
  if (problem != 0) throw cannot_write(file.path, std::strerror(problem));
  if (!file.stream) throw cannot_write(file.path, "writing failed");
  if (file.temporary.empty()) return;
  if (::rename(file.temporary.c_str(), file.target.c_str()) != 0) throw cannot_write(file.path, std::strerror(errno));
  file.forget_temporary();
  end_output(file.path);
}

CapturedOutput::CapturedOutput() { captured = &buffer_; }
CapturedOutput::~CapturedOutput() { captured = nullptr; }

bool capture_text(std::string_view printed) {
  if (captured == nullptr) return false;
  captured->sputn(printed.data(), static_cast<std::streamsize>(printed.size()));
  return true;
}

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  OutputFile file{path};
  write(file.stream());
  file.commit();
}

void make_output_folder(std::string_view option, const std::string& folder) {
  const std::string prefix = option.empty() ? std::string{} : fmt::format("{}: ", option);
  std::error_code error;
  fs::create_directories(folder, error);
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return;
  throw ConfigError(fs::exists(folder, ignored)
                        ? fmt::format("{}'{}' is no folder", prefix, folder)
                        : fmt::format("{}cannot make the folder '{}': {}", prefix, folder, error.message()));
}

void clean_up_on_signals() {
  for (const int signal : kSignals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_DFL) continue;  // as under nohup
    action = {};
    action.sa_handler = end_by_signal;
    sigaction(signal, &action, nullptr);
  }
  ::signal(SIGXFSZ, SIG_IGN);
}

void remove_unfinished() { detail::Unfinished::remove_all(); }

extern "C" void end_by_signal(int signal) {
  remove_unfinished();
  if (signal == SIGINT || signal == SIGTERM) {
    // A terminal shows ^C, or a line of progress, before it.
    constexpr std::string_view kSaid = "\ninterrupted: files that were finished stay, and no other was written\n";
    const std::string_view said = isatty(STDERR_FILENO) == 1 ? kSaid : kSaid.substr(1);
    [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, said.data(), said.size());
  }
  ::signal(signal, SIG_DFL);
  raise(signal);  // ends the program once this handler returns
}

}  // namespace weft
