// Text inside XML attributes and elements, for the writers of this folder.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/printable.h"

namespace weft::net {

// Appends `value` with the characters that XML reserves, and its line breaks and tabs, written as entities.
inline void append_escaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      case '\r':
        out += "&#13;";
        break;
      default:
        // XML 1.0 has no other control characters, not even as entities.
        out += static_cast<unsigned char>(c) < 0x20 ? printable({&c, 1}) : std::string{c};
    }
  }
}

}  // namespace weft::net
