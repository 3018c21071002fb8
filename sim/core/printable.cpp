#include "sim/core/printable.h"

#include <fmt/format.h>

#include <cstdint>

namespace weft {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t length = 1;
  bool is_text = false;  // UTF-8; otherwise a byte
};

// RFC 3629 §4: no overlong forms, no surrogates, nothing above U+10FFFF.
Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || at + length > text.size()) return {first, 1, false};
  std::uint32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {first, 1, false};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_wrong = is_overlong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF;
  return is_wrong ? Character{first, 1, false} : Character{code, length, true};
}

// A terminal or an editor obeys these: C0, DEL, C1, and of Unicode the separators of lines and the marks of direction.
bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200E && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string escape_of(const Character& character) {
  if (!character.is_text) return fmt::format("\\x{:02x}", character.code);
  switch (character.code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return character.code < 0x100 ? fmt::format("\\x{:02x}", character.code) : fmt::format("\\u{:04x}", character.code);
  }
}

template <class Shown>
std::string shown(std::string_view text, std::string_view kept, const Shown& instead) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    const bool stays = character.is_text && (!is_control(character.code) || kept.find(text[i]) != std::string_view::npos);
    if (stays) {
      result += text.substr(i, character.length);
    } else {
      result += instead(character);
    }
    i += character.length;
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) { return shown(text, "", escape_of); }
std::string printable_lines(std::string_view text) { return shown(text, "\n\t", escape_of); }
std::string printable_columns(std::string_view text) {
  return shown(text, "\t", [](const Character&) { return "\xEF\xBF\xBD"; });
}

}  // namespace weft
