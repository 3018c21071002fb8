#include "sim/network/import/nccl_xml_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::net {

std::string_view text_of(const XmlElement& element, std::string_view attribute) {
  const std::string* value = element.find(attribute);
  return value == nullptr ? std::string_view{} : std::string_view{*value};
}

std::size_t XmlChecks::offset_of(const XmlElement& element, std::string_view attribute) const {
  if (attribute.empty()) return element.offset;
  const std::string_view text = source_.text();
  const std::size_t end = std::min(text.find('>', element.offset), text.size());
  for (std::size_t at = text.find(attribute, element.offset); at < end; at = text.find(attribute, at + 1)) {
    const char before = text[at - 1];
    const std::size_t after = at + attribute.size();
    if ((before == ' ' || before == '\t' || before == '\n') && after < end && (text[after] == '=' || text[after] == ' '))
      return at;
  }
  return element.offset;
}

Diagnostic XmlChecks::locate(const XmlElement& element, std::string message, std::string_view attribute) const {
  const std::size_t length =
      attribute.empty() || element.find(attribute) == nullptr ? element.name.size() + 1 : attribute.size();
  return source_.at(offset_of(element, attribute), std::move(message), static_cast<int>(length));
}

void XmlChecks::fail(const XmlElement& element, std::string message, std::string_view attribute) {
  errors_.push_back(locate(element, std::move(message), attribute));
}

void XmlChecks::warn(const XmlElement& element, std::string message, std::string_view attribute) {
  warnings_.push_back(locate(element, std::move(message), attribute));
}

void XmlChecks::fail_at(std::size_t offset, std::string message, std::size_t length) {
  errors_.push_back(source_.at(offset, std::move(message), static_cast<int>(length)));
}

std::optional<std::int64_t> XmlChecks::number(const XmlElement& element, std::string_view attribute, std::int64_t least,
                                              std::int64_t most) {
  const std::string* text = element.find(attribute);
  if (text == nullptr) return std::nullopt;
  const auto value = parse_attribute_integer(*text);
  if (!value) {
    fail(element, fmt::format("{}.{}: expected a whole number, got '{}'", element.name, attribute, *text), attribute);
  } else if (*value < least || *value > most) {
    fail(element, fmt::format("{}.{}: expected {} to {}, got {}", element.name, attribute, least, most, *value), attribute);
  } else {
    return value;
  }
  return std::nullopt;
}

std::int64_t XmlChecks::required_number(const XmlElement& element, std::string_view attribute, std::int64_t least,
                                        std::int64_t most) {
  if (element.find(attribute) == nullptr) fail(element, fmt::format("{}.{}: missing", element.name, attribute));
  return number(element, attribute, least, most).value_or(least);
}

void XmlChecks::throw_if_failed() const {
  if (failed()) throw ConfigError(errors_);
}

}  // namespace weft::net
