#include "sim/network/link_type.h"

#include <array>
#include <map>
#include <memory>
#include <string>

#include "sim/core/config/reading_watch.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"

namespace weft::net {
namespace {

// Types carry no state: one object of each, made when first asked for.
const std::map<std::string_view, std::unique_ptr<LinkType>>& all_types() {
  static const auto types = [] {
    const ConfigNode nothing = ConfigNode::parse("{}", "builtin");
    Diagnostics diagnostics;
    ParamReader params{nothing, diagnostics};
    std::map<std::string_view, std::unique_ptr<LinkType>> made;
    for (const Registration<LinkType>* entry : link_types().entries()) made.emplace(entry->name, entry->make(params));
    params.finish();
    return made;
  }();
  return types;
}

}  // namespace

LinkParams LinkType::read(ParamReader& params) const {
  LinkParams read;
  read.width = params.optional<std::int64_t>("width", between<std::int64_t>(1, kMaxLinkWidth));
  read.rate = params.optional<Bandwidth>("rate", positive);
  read.latency = params.optional<Duration>("latency");
  if (const auto efficiency = params.optional<Ratio>("efficiency", between(Ratio{1e-3}, Ratio{1.0}))) {
    read.efficiency = efficiency->value;
  }
  return read;
}

Duration LinkType::switch_latency(const Profile& /*profile*/) const { return {}; }

const LinkType* find_link_type(std::string_view type) {
  const auto found = all_types().find(type);
  return found == all_types().end() ? nullptr : found->second.get();
}

LinkSpec make_link_spec(std::string_view type, std::int64_t width, const Profile& profile) {
  return make_link_spec(type, LinkParams{.width = width}, profile);
}

LinkSpec make_link_spec(std::string_view type, const LinkParams& params, const Profile& profile) {
  const LinkType* found = find_link_type(type);
  WEFT_CHECK(found != nullptr);
  WEFT_CHECK(!params.width || (*params.width >= 1 && *params.width <= kMaxLinkWidth));
  return found->spec(params, profile);
}

LinkSpec read_link_spec(ParamReader& params, const Profile& profile, std::string_view default_type) {
  const std::string type = default_type.empty() ? params.required<std::string>("type")
                                                : params.optional<std::string>("type", std::string{default_type});
  note_names(params.node().child_path("type"), link_types().names());
  const LinkType* found = find_link_type(type);
  if (found == nullptr) {
    // An absent or malformed `type` was reported by the reader. The type decides which keys there are, so all are let pass.
    if (!type.empty()) params.error("type", link_types().unknown(type), link_types().note(type));
    for (const char* key : {"width", "lanes", "rate", "latency", "mtu", "payload", "header", "efficiency"}) {
      static_cast<void>(params.optional_raw(key));
    }
    return make_link_spec("local", 1, profile);
  }
  return found->spec(found->read(params), profile);
}

}  // namespace weft::net
