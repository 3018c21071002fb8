#include "sim/collectives/nccl/version.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

struct Release {
  int minor = 0;
  NcclVersion version = NcclVersion::k2_18;
  std::string_view name;
};
constexpr Release kReleases[] = {{18, NcclVersion::k2_18, "2.18"}, {19, NcclVersion::k2_19, "2.19"},
                                 {21, NcclVersion::k2_21, "2.21"}, {23, NcclVersion::k2_23, "2.23"},
                                 {27, NcclVersion::k2_27, "2.27"}, {28, NcclVersion::k2_28, "2.28"},
                                 {29, NcclVersion::k2_29, "2.29"}, {30, NcclVersion::k2_30, "2.30"}};

}  // namespace

NcclVersion parse_version(std::string_view text) {
  int minor = -1;
  if (text.starts_with("2.")) {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + 2, end, minor);
    if (error != std::errc{} || (rest != end && *rest != '.' && *rest != '+' && *rest != '-')) minor = -1;
  }
  if (minor < kReleases[0].minor) {
    throw ConfigError(fmt::format("NCCL version: expected 2.18 or newer, such as '2.28.9', got '{}'", text));
  }
  NcclVersion found = NcclVersion::k2_18;
  for (const Release& release : kReleases) {
    if (release.minor <= minor) found = release.version;
  }
  return found;
}

std::string_view to_string(NcclVersion version) { return kReleases[static_cast<std::size_t>(version)].name; }

}  // namespace weft::coll::nccl
