// The files that one command reads and writes. A file that it reads is no file that it may write, and no two of its outputs are
// one file, whatever path, symbolic link or hard link names them.
//
//   const FileScope command;                      // main, once
//   claim_output("--json", "result.json");        // at the start of the command, before what takes long
//   std::ifstream in = open_input("cluster.yaml");  // ConfigError, and nothing lost, if that is result.json
//
// Everything in sim/ opens what it reads by open_input(), or tells it by note_input(), and writes by output_file.h. Outside a
// FileScope nothing is remembered and nothing is refused.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

// From here to its end, what is read and written is remembered. One at a time.
class FileScope {
 public:
  FileScope();
  ~FileScope();
  FileScope(const FileScope&) = delete;
  FileScope& operator=(const FileScope&) = delete;

  // A configuration that no file holds is read under this name, such as "<scenario>"; paths in it start from the current
  // folder.
  void give_text(const std::string& name, std::string text);
};

// The text that was given under this name; none: it names a file.
[[nodiscard]] std::optional<std::string> given_text(const std::filesystem::path& name);

// The file is read by something other than open_input(): call this before. ConfigError if an output has claimed it.
void note_input(const std::filesystem::path& file);
// Binary. As std::ifstream where the file cannot be opened: the stream is then false. A byte order mark of UTF-8 is passed
// over.
[[nodiscard]] std::ifstream open_input(const std::filesystem::path& file);
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The command will write `path`, named by `option`; "" and what std::ofstream would call no file (a pipe, /dev/null) claim
// nothing. ConfigError: it cannot be written, this command reads it, or another output has claimed it.
void claim_output(std::string_view option, const std::string& path);
// The same for a database and what SQLite keeps beside it; whether it can be written, SQLite says.
void claim_database(std::string_view option, const std::string& path);
// For a folder whose files are claimed once their names are known: that it is one, or can be made.
void claim_output_folder(std::string_view option, const std::string& folder);

// For what writes, around its writing: claims what was not claimed under this path, and lets nothing write there again. Whether
// it can be written shows when it is. After a refused note_input() nothing is written any more: a sweep takes that for an error
// of a point and goes on.
void begin_output(const std::string& path);
void end_output(const std::string& path);

// "-", or a name of standard output such as /dev/stdout.
[[nodiscard]] bool is_standard_output(const std::string& path);
// The open file that a path such as /dev/fd/3 names.
[[nodiscard]] std::optional<int> descriptor_named(const std::string& path);
// The file that a path names once symbolic links at its end are followed, whether it exists or not.
[[nodiscard]] std::filesystem::path behind_links(std::filesystem::path path);
// Exists, and is neither a regular file nor a folder: written as it stands, not replaced.
[[nodiscard]] bool is_special_file(const std::filesystem::path& path);

}  // namespace weft
