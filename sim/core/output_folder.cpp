#include "sim/core/output_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sim/core/error.h"
#include "sim/core/output_file.h"
#include "sim/core/used_files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr int kFolderNames = 1000;  // of temporary folders that are tried

ConfigError cannot_make(const std::string& folder, int problem) {
  return ConfigError(fmt::format("cannot make the folder '{}': {}", folder, std::strerror(problem)));
}

}  // namespace

OutputFolder::OutputFolder(const std::string& folder) : folder_{folder} {
  std::error_code ignored;
  const fs::path path = fs::path{folder}.lexically_normal();
  was_there_ = fs::is_directory(path, ignored);
  if (!was_there_ && fs::exists(fs::symlink_status(path, ignored))) throw ConfigError(fmt::format("'{}' is no folder", folder));
  if (was_there_) {
    make_temporary(folder);
    return;
  }
  // "traces/" has an empty name behind its parent.
  const fs::path parent = (path.has_filename() ? path : path.parent_path()).parent_path();
  const fs::path above = parent.empty() ? fs::path{"."} : parent;
  std::vector<std::string> missing;
  for (fs::path at = above; !at.empty() && !fs::exists(at, ignored); at = at.parent_path()) missing.push_back(at.string());
  try {
    for (; !missing.empty(); missing.pop_back()) {
      if (::mkdir(missing.back().c_str(), 0777) != 0 && errno != EEXIST) throw cannot_make(folder, errno);
      made_.push_back(missing.back());
    }
    make_temporary(above.string());
  } catch (...) {
    remove_temporary();
    throw;
  }
}

OutputFolder::~OutputFolder() { remove_temporary(); }

void OutputFolder::make_temporary(const std::string& beside) {
  for (int i = 0; i < kFolderNames; ++i) {
    const std::string name = (fs::path{beside} / fmt::format(".weft-{}-{}.dir.tmp", getpid(), i)).string();
    place_ = detail::Unfinished::add(name);  // before it is there, so that no signal can come in between
    if (::mkdir(name.c_str(), 0777) == 0) {
      temporary_ = name;
      return;
    }
    const int problem = errno;
    if (place_ != nullptr) place_->forget();
    place_ = nullptr;
    if (problem != EEXIST) throw ConfigError(fmt::format("cannot write in '{}': {}", beside, std::strerror(problem)));
  }
  throw ConfigError(fmt::format("cannot write in '{}': no name is left for a temporary folder", beside));
}

void OutputFolder::remove_temporary() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  temporary_.clear();
  if (place_ != nullptr) place_->forget();
  place_ = nullptr;
  for (; !made_.empty(); made_.pop_back()) ::rmdir(made_.back().c_str());
}

std::string OutputFolder::in_folder(const std::string& name) const { return (fs::path{folder_} / name).string(); }

void OutputFolder::write(const std::string& name, const std::function<void(std::ostream&)>& write) {
  begin_output(in_folder(name));
  std::error_code ignored;
  if (fs::is_directory(in_folder(name), ignored)) {
    throw ConfigError(fmt::format("cannot write '{}': it is a folder", in_folder(name)));
  }
  write_file((fs::path{temporary_} / name).string(), write);
  names_.push_back(name);
}

void OutputFolder::drop(const std::string& name) {
  begin_output(in_folder(name));
  dropped_.push_back(name);
}

void OutputFolder::commit() {
  WEFT_CHECK(!temporary_.empty());
  if (was_there_ || ::rename(temporary_.c_str(), fs::path{folder_}.lexically_normal().c_str()) != 0) {
    for (const std::string& name : names_) {
      if (::rename((fs::path{temporary_} / name).c_str(), in_folder(name).c_str()) != 0) {
        throw ConfigError(fmt::format("cannot write '{}': {}", in_folder(name), std::strerror(errno)));
      }
    }
    ::rmdir(temporary_.c_str());
  }
  temporary_.clear();
  made_.clear();
  remove_temporary();
  for (const std::string& name : dropped_) {
    std::error_code ignored;
    fs::remove(in_folder(name), ignored);
  }
  for (const std::string& name : names_) end_output(in_folder(name));
}

TemporaryFolder::TemporaryFolder() : path_{(fs::temp_directory_path() / "weft_XXXXXX").string()} {
  if (mkdtemp(path_.data()) == nullptr) throw ConfigError(fmt::format("cannot make a folder such as {}", path_));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace weft
