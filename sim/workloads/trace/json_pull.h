// A JSON text read piece by piece, in memory that does not grow with it: the caller asks for members and elements in turn and
// skips what it does not want.
//
//   json.begin_object();
//   while (json.next_member()) {            // json.key() is its name
//     if (json.key() == "id") id = json.scalar(); else json.skip();
//   }
//
// Lenient where that does no harm: what is skipped is only checked for its brackets and quotes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workloads/trace/input_stream.h"

namespace weft::work {

class JsonPull {
 public:
  explicit JsonPull(InputStream& stream);
  JsonPull(const JsonPull&) = delete;
  JsonPull& operator=(const JsonPull&) = delete;

  void begin_object();
  // True: key() is a member's name, and its value must be read or skipped. False: the object has ended.
  bool next_member();
  [[nodiscard]] std::string_view key() const { return key_; }
  void begin_array();
  bool next_element();

  enum class Kind : std::uint8_t { kObject, kArray, kString, kLiteral };  // literal: number, true, false, null
  [[nodiscard]] Kind kind();
  // Text of a string (unescaped) or a literal; valid until the next call of anything. ConfigError of objects and arrays.
  std::string_view scalar();
  void skip();
  // Nothing but white space is left.
  void check_end();

  // ConfigError: "byte 123: MESSAGE".
  [[noreturn]] void fail(std::string_view message) const;

 private:
  bool more();  // keeps what is unread
  char peek();  // the next byte that is no white space; 0 at the end
  char peek_further();
  void expect(char wanted);
  void push();
  void keep_key(std::string_view key);
  std::string_view string();
  void skip_string();
  void unescape(std::string_view raw, std::string& into) const;

  InputStream* stream_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::uint64_t before_ = 0;  // bytes of the stream before buffer_
  std::string_view key_;      // in one of the next two
  std::array<char, 64> short_key_{};
  std::string long_key_;
  std::string scratch_;
  std::vector<char> has_items_;  // by depth: whether a comma is due
};

// A decimal number of microseconds in nanoseconds, digit by digit: 4379585766711.913 does not fit a double. False where it is
// none or does not fit 64 bits; further digits are cut.
[[nodiscard]] bool parse_us_as_ns(std::string_view text, std::int64_t& ns);
// A whole number; a fraction of zeros is let pass ("5.0").
[[nodiscard]] bool read_integer(std::string_view text, std::int64_t& value);

}  // namespace weft::work
