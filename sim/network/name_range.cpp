#include "sim/network/name_range.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>

namespace weft::net {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Text before a range, and the range.
struct Part {
  std::string_view text;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (value > 1'000'000'000 || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  return value;
}

}  // namespace

NameRange expand_names(std::string_view text, std::size_t limit) {
  std::vector<Part> parts;
  std::string_view rest = text;
  std::size_t count = 1;
  for (std::size_t dots = rest.find(".."); dots != std::string_view::npos; dots = rest.find("..")) {
    const std::size_t before = rest.substr(0, dots).find_last_not_of(kDigits);
    const std::size_t from = before == std::string_view::npos ? 0 : before + 1;
    // "h0..h7" is "h0..7": the name may be there again.
    const std::size_t begin = rest.substr(0, from).rfind('.') + 1;  // npos + 1 is 0
    const std::string_view name = rest.substr(begin, from - begin);
    const std::size_t second = dots + 2 + (rest.substr(dots + 2).starts_with(name) ? name.size() : 0);
    std::size_t to = rest.find_first_not_of(kDigits, second);
    if (to == std::string_view::npos) to = rest.size();
    const auto first = number(rest.substr(from, dots - from));
    const auto last = number(rest.substr(second, to - second));
    if (!first || !last) return {{}, fmt::format("expected a range such as 'gpu0..7', got '{}'", text)};
    if (*last < *first) return {{}, fmt::format("the range '{}' counts down", text)};
    const std::uint64_t size = *last - *first + 1;
    if (size > limit || count > limit / size) return {{}, fmt::format("'{}' names more than {} devices", text, limit)};
    count *= size;
    parts.push_back({rest.substr(0, from), *first, *last});
    rest = rest.substr(to);
  }

  NameRange expanded;
  expanded.names.assign(1, "");
  for (const Part& part : parts) {
    std::vector<std::string> longer;
    longer.reserve(count);
    for (const std::string& name : expanded.names) {
      for (std::uint64_t i = part.first; i <= part.last; ++i) longer.push_back(fmt::format("{}{}{}", name, part.text, i));
    }
    expanded.names = std::move(longer);
  }
  for (std::string& name : expanded.names) name += rest;
  return expanded;
}

}  // namespace weft::net
