// Writes JSON as it comes, in the order given and without a tree in memory: a million flows need no million objects.
//
//   JsonWriter json{out};
//   json.begin_object();
//   json.field("name", "h200x4");
//   json.key("points").begin_array();
//   for (const Point& p : points) json.begin_object().field("bytes", p.bytes).end_object();
//   json.end_array().end_object();
//   json.finish();
//
// Members of the two outer levels get lines of their own; what is deeper stays on one line, so that a point or a flow is a
// line. Doubles are written with the fewest digits that read back the same; one that is not finite becomes null.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.h"

namespace weft {

class JsonWriter {
 public:
  // `line_levels`: outer levels whose members get lines of their own; 0 puts everything on one line.
  explicit JsonWriter(std::ostream& out, std::size_t line_levels = 2) : out_{out}, line_levels_{line_levels} {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view{text}); }
  JsonWriter& value(const std::string& text) { return value(std::string_view{text}); }
  JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& value(double number);
  template <std::integral T>
  JsonWriter& value(T number) {
    return raw(std::to_string(number));
  }
  JsonWriter& null() { return raw("null"); }
  // `json` must be one JSON value.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }
  JsonWriter& null_field(std::string_view name) { return key(name).null(); }

  // Hands everything to the stream, with a newline at the end where there are lines.
  void finish();

 private:
  struct Level {
    bool is_line = false;  // members share a line
    bool has_members = false;
  };
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  void new_line(std::size_t depth);
  void quote(std::string_view text);
  void flush();

  std::ostream& out_;
  std::size_t line_levels_;
  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

// Exact decimals, without trailing zeros: 1'500 ps are "1.5" ns and "0.0015" us.
[[nodiscard]] std::string ns_text(Duration duration);
[[nodiscard]] std::string us_text(Duration duration);

}  // namespace weft
