// The one way to write a file: whole or not at all, and never over a file that the same command reads (used_files.h).
//
//   write_file("result.json", [&](std::ostream& out) { out << text; });
//
//   OutputFile file{"timeline.json"};   // for what is written bit by bit
//   file.stream() << text;
//   file.commit();                      // without it, nothing is left
//
// A file is filled under another name in the same folder and then takes its place; it keeps the permissions of the one it
// replaces, and a symbolic link stays one. "-" is standard output, and so is /dev/stdout. A pipe or a device is written as it
// stands.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

namespace weft {

class OutputFile {
 public:
  // ConfigError: it cannot be written, or this command reads it or has written it.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] std::ostream& stream();
  // Once. ConfigError, and the file as it was before, if not all could be written.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// From here to its end, what goes to the file "-" is kept as a text: for a program that calls a command for its result. One at
// a time.
class CapturedOutput {
 public:
  CapturedOutput();
  ~CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  [[nodiscard]] std::string text() const { return buffer_.str(); }

 private:
  std::stringbuf buffer_;
};

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);
// ConfigError: it is there and no folder, or cannot be made.
void make_output_folder(std::string_view option, const std::string& folder);

// Takes unfinished files away, for who ends the program by other ways than an exception. Async-signal-safe.
void remove_unfinished();

// A signal that ends the program takes the unfinished files along. A file over the size limit of the shell is an error of
// writing. Once, by main.
void clean_up_on_signals();
// The handler of those signals, for who has another one and is done with it.
extern "C" void end_by_signal(int signal);

}  // namespace weft
