#include "sim/core/result_header.h"

#include <fmt/format.h>

#include "sim/core/version.h"

namespace weft {

void write_profile(JsonWriter& json, const ProfileStatement& profile) {
  json.begin_object().field("name", profile.name);
  if (profile.file.empty()) {
    json.null_field("file");
  } else {
    json.field("file", profile.file);
  }
  json.field("stated_error", profile.stated_error).end_object();
}

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

void write_header(JsonWriter& json, const ResultHeader& header) {
  json.field("version", version()).field("commit", commit());
  json.field("command", header.command).field("command_line", header.command_line);
  json.field("seed", header.seed);
  json.key("configuration").raw(header.configuration.empty() ? "null" : header.configuration);
  if (header.profiles.size() == 1) {
    json.key("profile");
    write_profile(json, header.profiles.front());
  } else {
    json.key("profiles").begin_array();
    for (const ProfileStatement& profile : header.profiles) write_profile(json, profile);
    json.end_array();
  }
  json.key("warnings").begin_array();
  for (const std::string& warning : header.warnings) json.value(warning);
  json.end_array();
  json.field("digest", digest_text(header.digest)).field("interrupted", header.interrupted);
}

}  // namespace weft
