// Several files of one folder, all of them or none: they are written beside and take their places together.
//
//   OutputFolder folder{"traces"};
//   for (...) folder.write(name, [&](std::ostream& out) { out << text; });
//   folder.commit();                  // without it, nothing is left and older files stay
//
// A folder that was not there comes whole, in one step of the file system. Files of one that is there come one after another,
// once all are written.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/unfinished.h"

namespace weft {

class OutputFolder {
 public:
  // ConfigError: it is there and no folder, or cannot be made.
  explicit OutputFolder(const std::string& folder);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // ConfigError: it cannot be written, or this command reads or has written a file of that name there.
  void write(const std::string& name, const std::function<void(std::ostream&)>& write);
  // A file of an earlier run goes when the others come.
  void drop(const std::string& name);
  // Once.
  void commit();

 private:
  [[nodiscard]] std::string in_folder(const std::string& name) const;
  void make_temporary(const std::string& beside);
  void remove_temporary();

  std::string folder_;
  bool was_there_ = false;
  std::string temporary_;  // the folder that is filled; empty: none any more
  detail::Unfinished* place_ = nullptr;
  std::vector<std::string> names_;
  std::vector<std::string> dropped_;
  std::vector<std::string> made_;  // folders above, which go again if this one does not come
};

// A folder for files that a command needs only while it runs; gone at the end.
class TemporaryFolder {
 public:
  // ConfigError: it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string in(std::string_view name) const { return path_ + "/" + std::string{name}; }

 private:
  std::string path_;
};

}  // namespace weft
