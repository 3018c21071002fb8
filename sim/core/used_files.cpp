#include "sim/core/used_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <compare>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "sim/core/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // in a chain; Linux follows as many

// Device and inode of what exists; of what does not, those of its folder and its name there.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;

  auto operator<=>(const FileId&) const = default;
};

// None: no file of its own (a pipe, /dev/null), or nothing that could be one.
std::optional<FileId> file_id_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) return std::nullopt;
    return FileId{.device = status.st_dev, .inode = status.st_ino, .name = {}};
  }
  const fs::path target = behind_links(path);
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path{"."};
  if (stat(parent.c_str(), &status) != 0) return std::nullopt;
  return FileId{.device = status.st_dev, .inode = status.st_ino, .name = target.filename().string()};
}

struct Claim {
  std::string option;  // empty: none, the path names it
  std::string path;
  bool written = false;
};

struct Ledger {
  std::mutex mutex;
  std::map<FileId, std::string> inputs;  // the path that each was read by
  std::map<FileId, std::shared_ptr<Claim>> outputs;
  std::map<std::string, std::shared_ptr<Claim>> by_path;
  std::map<std::string, std::string> texts;  // given in place of files, by name
  std::string standard_output;               // the option that claimed it
  std::optional<ConfigError> conflict;       // of an output with an input; whoever read that may have gone on
};

std::unique_ptr<Ledger>& ledger() {
  static std::unique_ptr<Ledger> current;
  return current;
}

[[noreturn]] void refuse(std::string_view option, const std::string& path, const std::string& why, std::string note = {}) {
  throw ConfigError(
      {Diagnostic{.where = {},
                  .message = fmt::format("{}{}cannot write '{}': {}", option, option.empty() ? "" : ": ", path, why),
                  .source_line = {},
                  .length = 1,
                  .note = std::move(note)}});
}

std::string under_name(const std::string& other, const std::string& path) {
  return other == path ? std::string{} : fmt::format(", as '{}'", other);
}

[[noreturn]] void refuse_input(const Claim& claim, const std::string& input) {
  refuse(claim.option, claim.path, "this command reads that file" + under_name(input, claim.path),
         "it would be lost; name another file for the result");
}

void check_folder(std::string_view option, const std::string& path, const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) refuse(option, path, fmt::format("there is no folder '{}'", folder.string()));
  if (access(folder.c_str(), W_OK) != 0) refuse(option, path, std::strerror(errno));
}

void check_writable(std::string_view option, const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse(option, path, "it is a folder");
  if (descriptor_named(path) || is_special_file(path)) return;
  const fs::path target = behind_links(path);
  check_folder(option, path, target.has_parent_path() ? target.parent_path() : fs::path{"."});
  if (fs::exists(target, ignored) && access(target.c_str(), W_OK) != 0) refuse(option, path, std::strerror(errno));
}

void claim(Ledger& files, std::string_view option, const std::string& path) {
  const std::optional<FileId> id = file_id_of(path);
  if (!id) return;
  const auto made = std::make_shared<Claim>(Claim{.option = std::string{option}, .path = path});
  if (const auto input = files.inputs.find(*id); input != files.inputs.end()) refuse_input(*made, input->second);
  const auto [other, is_new] = files.outputs.emplace(*id, made);
  if (!is_new) {
    const Claim& first = *other->second;
    const std::string who = first.option.empty() ? std::string{"this command"} : first.option;
    refuse(option, path,
           fmt::format("{} {} that file{}", who, first.written ? "has written" : "writes", under_name(first.path, path)));
  }
  files.by_path[path] = made;
}

}  // namespace

FileScope::FileScope() {
  ledger() = std::make_unique<Ledger>();
  forget_times_given();
}
FileScope::~FileScope() { ledger().reset(); }

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): there is a scope where there is one to call
void FileScope::give_text(const std::string& name, std::string text) { ledger()->texts[name] = std::move(text); }

std::optional<std::string> given_text(const fs::path& name) {
  const Ledger* const files = ledger().get();
  if (files == nullptr) return std::nullopt;
  const auto found = files->texts.find(name.string());
  return found == files->texts.end() ? std::nullopt : std::optional{found->second};
}

void note_input(const fs::path& file) {
  Ledger* const files = ledger().get();
  if (files == nullptr) return;
  const std::optional<FileId> id = file_id_of(file);
  if (!id || !id->name.empty()) return;  // there is none, and whoever reads it will say so
  const std::lock_guard lock{files->mutex};
  files->inputs.emplace(*id, file.string());
  const auto output = files->outputs.find(*id);
  if (output == files->outputs.end()) return;
  try {
    refuse_input(*output->second, file.string());
  } catch (const ConfigError& error) {
    if (!files->conflict) files->conflict = error;
    throw;
  }
}

std::ifstream open_input(const fs::path& file) {
  note_input(file);
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  const int problem = errno;
  // Byte by byte and back, so that a pipe loses nothing.
  std::size_t same = 0;
  while (in && same < kByteOrderMark.size() && in.peek() == static_cast<unsigned char>(kByteOrderMark[same])) {
    in.get();
    ++same;
  }
  if (in.eof()) in.clear(in.rdstate() & ~std::ios::eofbit);  // of the peek; whoever reads on meets the end again
  while (same > 0 && same < kByteOrderMark.size()) {
    in.unget();
    --same;
  }
  errno = problem;
  return in;
}

void claim_output(std::string_view option, const std::string& path) {
  if (path.empty()) return;
  Ledger* const files = ledger().get();
  if (is_standard_output(path)) {
    if (files == nullptr) return;
    const std::lock_guard lock{files->mutex};
    if (!files->standard_output.empty())
      throw ConfigError(fmt::format("{} and {} cannot both go to standard output", files->standard_output, option));
    files->standard_output = option;
    return;
  }
  check_writable(option, path);
  if (files == nullptr) return;
  const std::lock_guard lock{files->mutex};
  claim(*files, option, path);
}

void claim_database(std::string_view option, const std::string& path) {
  Ledger* const files = ledger().get();
  if (files == nullptr) return;
  const std::lock_guard lock{files->mutex};
  for (const char* const beside : {"", "-wal", "-shm", "-journal"}) claim(*files, option, path + beside);
}

void claim_output_folder(std::string_view option, const std::string& folder) {
  if (folder.empty()) return;
  std::error_code ignored;
  fs::path place = fs::path{folder}.lexically_normal();
  while (!fs::exists(place, ignored)) {
    const fs::path parent = place.has_parent_path() && place.parent_path() != place ? place.parent_path() : fs::path{"."};
    place = parent;
  }
  if (!fs::is_directory(place, ignored)) refuse(option, folder, fmt::format("'{}' is no folder", place.string()));
  if (access(place.c_str(), W_OK) != 0) refuse(option, folder, std::strerror(errno));
}

void begin_output(const std::string& path) {
  Ledger* const files = ledger().get();
  if (files == nullptr) return;
  const std::lock_guard lock{files->mutex};
  if (files->conflict) throw ConfigError{*files->conflict};
  if (const auto known = files->by_path.find(path); known == files->by_path.end() || known->second->written)
    claim(*files, {}, path);
  if (const auto claimed = files->by_path.find(path); claimed != files->by_path.end()) claimed->second->written = true;
}

void end_output(const std::string& path) {
  Ledger* const files = ledger().get();
  if (files == nullptr) return;
  const std::optional<FileId> id = file_id_of(path);
  const std::lock_guard lock{files->mutex};
  const auto known = files->by_path.find(path);
  if (id && known != files->by_path.end()) files->outputs.emplace(*id, known->second);  // a new file has a new inode
}

bool is_standard_output(const std::string& path) { return path == "-" || descriptor_named(path) == STDOUT_FILENO; }

std::optional<int> descriptor_named(const std::string& path) {
  const std::string folders[] = {"/dev/fd/", "/proc/self/fd/", fmt::format("/proc/{}/fd/", getpid())};
  std::error_code error;
  fs::path step = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    const std::string text = step.lexically_normal().string();
    for (const std::string& folder : folders) {
      if (!text.starts_with(folder)) continue;
      int number = -1;
      const auto [end, problem] = std::from_chars(text.data() + folder.size(), text.data() + text.size(), number);
      if (problem == std::errc{} && end == text.data() + text.size()) return number;
    }
    if (!fs::is_symlink(step, error)) return std::nullopt;
    const fs::path target = fs::read_symlink(step, error);
    if (error) return std::nullopt;
    step = step.parent_path() / target;  // an absolute target stands for itself
  }
  return std::nullopt;
}

fs::path behind_links(fs::path path) {
  std::error_code error;
  for (int i = 0; i < kMaxLinks && fs::is_symlink(path, error); ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  return path;
}

bool is_special_file(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace weft
