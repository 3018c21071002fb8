#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "sim/core/config/json.h"
#include "sim/core/config/tree.h"
#include "sim/core/words.h"

namespace weft {
namespace {

using detail::Mark;
using detail::SourceFile;
using detail::TreeEntry;
using detail::TreeValue;

constexpr int kMaxJsonDepth = 64;       // each level takes memory before the text is known to be complete
constexpr std::size_t kMaxShown = 120;  // bytes of a line in an error

[[noreturn]] void refuse_json(std::string_view text, std::size_t offset, const std::string& name) {
  const bool ends = offset >= text.size();
  offset = std::min(offset, text.size());
  const std::size_t begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;  // npos + 1 is 0
  const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  Diagnostic diagnostic;
  diagnostic.where = {name,
                      static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n')) + 1,
                      static_cast<int>(std::min<std::size_t>(offset - begin, std::numeric_limits<int>::max() - 1)) + 1};
  diagnostic.message = ends ? "the JSON ends before it is complete" : "not well-formed JSON";
  const bool printable = std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
  if (printable && line.size() <= kMaxShown) diagnostic.source_line = line;
  throw ConfigError({std::move(diagnostic)});
}

class JsonParser {
 public:
  explicit JsonParser(std::shared_ptr<const SourceFile> source)
      : source_{std::move(source)}, text_{source_->text}, name_{source_->name} {}

  detail::Tree read() {
    skip_blanks();
    detail::Tree top;
    top.mark = mark(1);
    top.value = value(0);
    skip_blanks();
    if (at_ < text_.size()) fail();
    return top;
  }

 private:
  [[noreturn]] void fail() const { refuse_json(text_, at_, name_); }

  [[nodiscard]] char next() const {
    if (at_ >= text_.size()) fail();
    return text_[at_];
  }
  void expect(char c) {
    if (next() != c) fail();
    ++at_;
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }

  // Where reading stands. Marks come in order: counting on from the last one keeps long lines linear.
  Mark mark(int length) {
    for (; counted_ < at_; ++counted_) {
      const auto byte = static_cast<unsigned char>(text_[counted_]);
      if (byte == '\n') {
        ++line_;
        column_ = 1;
      } else if ((byte & 0xC0U) != 0x80U) {
        ++column_;
      }
    }
    return {source_, line_, column_, length};
  }

  std::shared_ptr<const TreeValue> value(int depth) {
    switch (next()) {
      case '{':
        return map(depth + 1);
      case '[':
        return list(depth + 1);
      case '"':
        return scalar(string(), true);
      default:
        return word();
    }
  }

  static std::shared_ptr<const TreeValue> scalar(std::string text, bool quoted) {
    auto made = std::make_shared<TreeValue>();
    made->kind = ConfigNode::Kind::kScalar;
    made->quoted = quoted;
    made->scalar = std::move(text);
    return made;
  }

  void check_depth(int depth) const {
    if (depth > kMaxJsonDepth) throw ConfigError(fmt::format("'{}': nested deeper than {} levels", name_, kMaxJsonDepth));
  }

  std::shared_ptr<const TreeValue> map(int depth) {
    check_depth(depth);
    auto made = std::make_shared<TreeValue>();
    made->kind = ConfigNode::Kind::kMap;
    std::set<std::string, std::less<>> seen;
    items('}', [&] {
      if (next() != '"') fail();
      TreeEntry entry;
      entry.key_mark = mark(1);
      const std::size_t from = at_;
      entry.key = string();
      entry.key_mark.length = static_cast<int>(std::min(at_ - from, kMaxShown));
      if (!seen.insert(entry.key).second) {
        throw ConfigError({detail::diagnostic_at(entry.key_mark, fmt::format("repeated key '{}'", entry.key), {})});
      }
      skip_blanks();
      expect(':');
      skip_blanks();
      place(entry, depth);
      made->entries.push_back(std::move(entry));
    });
    made->close();
    return made;
  }

  std::shared_ptr<const TreeValue> list(int depth) {
    check_depth(depth);
    auto made = std::make_shared<TreeValue>();
    made->kind = ConfigNode::Kind::kList;
    items(']', [&] {
      TreeEntry entry;
      entry.key_mark = mark(1);
      place(entry, depth);
      made->entries.push_back(std::move(entry));
    });
    made->close();
    return made;
  }

  void place(TreeEntry& entry, int depth) {
    entry.value_mark = mark(1);
    const std::size_t from = at_;
    entry.value = value(depth);
    if (entry.value->kind == ConfigNode::Kind::kScalar) {
      entry.value_mark.length = static_cast<int>(std::min(at_ - from, kMaxShown));
    }
  }

  // Reads what stands between brackets, after the opening one.
  template <class ReadItem>
  void items(char closing, ReadItem read_item) {
    ++at_;
    skip_blanks();
    if (next() == closing) {
      ++at_;
      return;
    }
    for (;;) {
      read_item();
      skip_blanks();
      if (next() == closing) break;
      expect(',');
      skip_blanks();
    }
    ++at_;
  }

  unsigned hex4() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = next();
      const int digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) fail();
      code = code * 16 + static_cast<unsigned>(digit);
      ++at_;
    }
    return code;
  }

  static void append_utf8(std::string& out, unsigned code) {
    const auto byte = [&out](unsigned bits) { out += static_cast<char>(bits); };
    if (code < 0x80) return byte(code);
    if (code < 0x800) {
      byte(0xC0U | code >> 6U);
    } else {
      if (code < 0x10000) {
        byte(0xE0U | code >> 12U);
      } else {
        byte(0xF0U | code >> 18U);
        byte(0x80U | (code >> 12U & 0x3FU));
      }
      byte(0x80U | (code >> 6U & 0x3FU));
    }
    byte(0x80U | (code & 0x3FU));
  }

  // After the backslash.
  void escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    const char letter = next();
    if (const std::size_t known = kLetters.find(letter); known != std::string_view::npos) {
      out += kMeant[known];
      ++at_;
      return;
    }
    if (letter != 'u') fail();
    ++at_;
    unsigned code = hex4();
    if (code >= 0xDC00 && code < 0xE000) fail();
    if (code >= 0xD800 && code < 0xDC00) {  // the first half of a pair
      expect('\\');
      expect('u');
      const unsigned low = hex4();
      if (low < 0xDC00 || low >= 0xE000) fail();
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    append_utf8(out, code);
  }

  std::string string() {
    ++at_;
    std::string out;
    for (;;) {
      const char c = next();
      if (static_cast<unsigned char>(c) < ' ') fail();
      ++at_;
      if (c == '"') return out;
      if (c == '\\') {
        escape(out);
      } else {
        out += c;
      }
    }
  }

  void digits() {
    if (!is_digit(next())) fail();
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  }

  // A number, or one of the words.
  std::shared_ptr<const TreeValue> word() {
    constexpr std::array<std::string_view, 6> kWords{"null", "true", "false", "NaN", "Infinity", "-Infinity"};
    for (const std::string_view known : kWords) {
      if (text_.substr(at_, known.size()) != known) continue;
      at_ += known.size();
      return known == "null" ? std::make_shared<const TreeValue>() : scalar(std::string{known}, false);
    }
    const std::size_t from = at_;
    if (next() == '-') ++at_;
    if (next() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (next() == '+' || next() == '-') ++at_;
      digits();
    }
    return scalar(std::string{text_.substr(from, at_ - from)}, false);
  }

  std::shared_ptr<const SourceFile> source_;
  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0;
  int line_ = 1;
  int column_ = 1;
};

}  // namespace

ConfigNode parse_json(std::string_view text, const std::string& file_name, std::string root) {
  // Tabs may stand between values and nowhere else.
  std::string blanks{text};
  std::replace(blanks.begin(), blanks.end(), '\t', ' ');
  SourceFile source;
  source.name = file_name;
  source.path = file_name;
  detail::Tree top = JsonParser{detail::make_source(std::move(source), blanks)}.read();
  detail::check_size(*top.value, top.mark);
  return NodeAccess::make(std::move(top.value), top.mark, top.mark, std::move(root));
}

}  // namespace weft
