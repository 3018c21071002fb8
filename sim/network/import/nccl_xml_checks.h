// Finds what is wrong with the elements of an NCCL topology file, each at its place, and reads their numbers. Private to
// import/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/network/import/nccl_xml.h"
#include "sim/network/import/source_text.h"

namespace weft::net {

// Empty where the element has none of that name.
[[nodiscard]] std::string_view text_of(const XmlElement& element, std::string_view attribute);

class XmlChecks {
 public:
  explicit XmlChecks(const SourceText& source) : source_{source} {}

  // At `attribute`; at the element where that is empty or the element has none of that name.
  void fail(const XmlElement& element, std::string message, std::string_view attribute = {});
  void fail_at(std::size_t offset, std::string message, std::size_t length);
  void warn(const XmlElement& element, std::string message, std::string_view attribute = {});

  // Nothing where there is none, and, with an error, where it is no number from `least` to `most`.
  std::optional<std::int64_t> number(const XmlElement& element, std::string_view attribute, std::int64_t least,
                                     std::int64_t most);
  // `least` in place of nothing; an error where it is missing.
  std::int64_t required_number(const XmlElement& element, std::string_view attribute, std::int64_t least, std::int64_t most);

  [[nodiscard]] bool failed() const { return !errors_.empty(); }
  void throw_if_failed() const;
  [[nodiscard]] std::vector<Diagnostic> take_warnings() { return std::move(warnings_); }

 private:
  [[nodiscard]] std::size_t offset_of(const XmlElement& element, std::string_view attribute) const;
  [[nodiscard]] Diagnostic locate(const XmlElement& element, std::string message, std::string_view attribute) const;

  const SourceText& source_;
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
};

}  // namespace weft::net
