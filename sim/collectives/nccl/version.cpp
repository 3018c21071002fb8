#include "sim/collectives/nccl/version.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

// Every tagged release whose sources were read (models/nccl §5.8). One that is added here uses the rows that hold for it.
constexpr NcclVersion kReleases[] = {release(18, 3), release(18, 5), release(18, 6), release(19, 1), release(19, 3),
                                     release(19, 4), release(20, 3), release(20, 5), release(21, 5), release(22, 3),
                                     release(23, 4), release(24, 3), release(25, 1), release(26, 2), release(26, 3),
                                     release(26, 5), release(26, 6), release(27, 3), release(27, 5), release(27, 6),
                                     release(27, 7), release(28, 3), release(28, 7), release(28, 9), release(29, 2),
                                     release(29, 3), release(29, 7), release(30, 3), release(30, 4), release(30, 7)};

struct Named {
  int minor = 0;
  std::optional<int> patch = {};
};

// Reads a whole number off the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<Named> named(std::string_view text) {
  if (!text.starts_with("2.")) return std::nullopt;
  text.remove_prefix(2);
  const std::optional<int> minor = take_number(text);
  const bool ends = text.empty() || text[0] == '.' || text[0] == '+' || text[0] == '-';
  if (!minor || !ends) return std::nullopt;
  Named found{.minor = *minor};
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    found.patch = take_number(text);
  }
  return found;
}

int minor_of(NcclVersion version) { return static_cast<int>(version) / 100; }
int patch_of(NcclVersion version) { return static_cast<int>(version) % 100; }

struct Match {
  NcclVersion version = kOldestRelease;
  bool own = false;
};

Match match(std::string_view text) {
  const std::optional<Named> asked = named(text);
  if (!asked || asked->minor < minor_of(kOldestRelease)) {
    throw ConfigError(fmt::format("NCCL version: expected 2.18 or newer, such as '2.28.9', got '{}'", text));
  }
  Match found;
  for (const NcclVersion version : kReleases) {
    const bool same_minor = minor_of(version) == asked->minor;
    if (minor_of(version) > asked->minor || (same_minor && patch_of(version) > asked->patch.value_or(patch_of(version)))) break;
    found = {.version = version, .own = same_minor && patch_of(version) == asked->patch.value_or(patch_of(version))};
  }
  return found;
}

}  // namespace

NcclVersion parse_version(std::string_view text) { return match(text).version; }

std::string stand_in_note(std::string_view text) {
  const Match found = match(text);
  return found.own ? std::string{}
                   : fmt::format("NCCL {} has no rules of its own here: those of {} are used", text, to_string(found.version));
}

std::string to_string(NcclVersion version) { return fmt::format("2.{}.{}", minor_of(version), patch_of(version)); }

std::string known_releases() {
  std::string list;
  for (const NcclVersion version : kReleases) list += (list.empty() ? "" : ", ") + to_string(version);
  return list;
}

}  // namespace weft::coll::nccl
