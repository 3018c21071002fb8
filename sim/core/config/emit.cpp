// Trees back to text.
#include <algorithm>

#include "sim/core/config/node.h"
#include "sim/core/config/quantity.h"

namespace weft {
namespace {

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// Narrower than YAML allows: the same text inside flow collections, never a document marker or a null.
bool is_plain(std::string_view text) {
  if (text.empty() || text == "null" || text == "Null" || text == "NULL") return false;
  if (text.back() == ' ') return false;
  const char first = text.front();
  const bool sign = first == '-' && text.size() > 1 && text[1] >= '0' && text[1] <= '9';
  const bool relative = text.starts_with("./") || text.starts_with("../");
  if (!is_letter_or_digit(first) && first != '/' && first != '_' && !sign && !relative) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) || std::string_view{" _./+-%=()"}.find(c) != std::string_view::npos;
  });
}

// Between double quotes, with escapes that JSON and YAML share.
std::string quote(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    // U+0080 to U+009F, which terminals obey: what stands here is UTF-8.
    const bool is_c1 = byte == 0xC2U && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0U;
    if (is_c1) {
      const auto code = static_cast<unsigned char>(text[++i]);
      result += "\\u00";
      result += kDigits[code >> 4U];
      result += kDigits[code & 15U];
    } else if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (byte < 0x20U || byte == 0x7FU) {
      result += "\\u00";
      result += kDigits[byte >> 4U];
      result += kDigits[byte & 15U];
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string scalar_text(const ConfigNode& node) {
  if (node.is_null()) return "null";
  return node.quoted() ? quote(node.scalar()) : yaml_scalar(node.scalar());
}

bool is_leaf(const ConfigNode& node) { return node.is_null() || node.is_scalar(); }

// True for what may follow "key:" or "-" on its line: a leaf, a list of leaves, or an empty map.
bool fits_a_line(const ConfigNode& node) {
  if (is_leaf(node) || node.size() == 0) return true;
  if (!node.is_list()) return false;
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (!is_leaf(node[i])) return false;
  }
  return true;
}

std::string line_text(const ConfigNode& node) {
  if (is_leaf(node)) return scalar_text(node);
  if (node.is_map()) return "{}";
  std::string text = "[";
  for (std::size_t i = 0; i < node.size(); ++i) text += (i == 0 ? "" : ", ") + scalar_text(node[i]);
  return text + "]";
}

void write_block(const ConfigNode& node, std::size_t indent, bool first_is_indented, std::string& out) {
  const std::vector<std::string> keys = node.keys();
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (i > 0 || !first_is_indented) out.append(indent, ' ');
    out += node.is_map() ? yaml_scalar(keys[i]) + ":" : "-";
    const ConfigNode child = node[i];
    if (fits_a_line(child)) {
      out += ' ' + line_text(child) + '\n';
    } else if (node.is_list()) {
      out += ' ';
      write_block(child, indent + 2, true, out);
    } else {
      out += '\n';
      write_block(child, indent + 2, false, out);
    }
  }
}

class JsonText final : public NodeVisitor {
 public:
  void on_null() override { value("null"); }
  void on_scalar(const std::string& scalar, bool quoted) override {
    const bool plain = !quoted && (parse_bool(scalar) || parse_number(scalar));
    value(plain ? scalar : quote(scalar));
  }
  void on_list_begin(std::size_t) override { open('['); }
  void on_list_end() override { close(']'); }
  void on_map_begin(std::size_t) override { open('{'); }
  void on_key(const std::string& key) override {
    separate();
    text += quote(key) + ": ";
    first_ = true;
  }
  void on_map_end() override { close('}'); }

  std::string text;

 private:
  void separate() {
    if (!first_) text += ", ";
    first_ = false;
  }
  void value(const std::string& json) {
    separate();
    text += json;
  }
  void open(char bracket) {
    separate();
    text += bracket;
    first_ = true;
  }
  void close(char bracket) {
    text += bracket;
    first_ = false;
  }
  bool first_ = true;
};

}  // namespace

std::string yaml_scalar(std::string_view text) { return is_plain(text) ? std::string{text} : quote(text); }

std::string ConfigNode::to_yaml() const {
  if (fits_a_line(*this)) return line_text(*this) + '\n';
  std::string text;
  write_block(*this, 0, false, text);
  return text;
}

std::string ConfigNode::to_json() const {
  JsonText writer;
  visit(writer);
  return std::move(writer.text);
}

void ConfigNode::visit(NodeVisitor& visitor) const {
  switch (kind()) {
    case Kind::kNull:
      return visitor.on_null();
    case Kind::kScalar:
      return visitor.on_scalar(scalar(), quoted());
    case Kind::kList:
      visitor.on_list_begin(size());
      for (std::size_t i = 0; i < size(); ++i) (*this)[i].visit(visitor);
      return visitor.on_list_end();
    case Kind::kMap: {
      visitor.on_map_begin(size());
      const std::vector<std::string> names = keys();
      for (std::size_t i = 0; i < size(); ++i) {
        visitor.on_key(names[i]);
        (*this)[i].visit(visitor);
      }
      return visitor.on_map_end();
    }
  }
}

}  // namespace weft
