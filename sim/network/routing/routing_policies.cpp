// The registry of routing policies.
#include <fmt/format.h>

#include "sim/core/config/defaults.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"

namespace weft::net {

const Registry<RoutingPolicy>& routing_policies() {
  static const Registration<RoutingPolicy>* const kBuiltin[] = {
#define WEFT_ROUTING(name) &name,
#include "sim/network/builtin.def"
  };
  static const Registry<RoutingPolicy> registry{"routing", kBuiltin};
  return registry;
}

std::unique_ptr<RoutingPolicy> read_routing_policy(ParamReader& stated) {
  const auto names = routing_policies().names();
  const std::string type = stated.choice("type", {names.begin(), names.end()});
  const Registration<RoutingPolicy>* registration = routing_policies().find(type);
  std::unique_ptr<RoutingPolicy> made = registration == nullptr ? nullptr : registration->make(stated);
  stated.finish();
  return made;
}

std::unique_ptr<RoutingPolicy> make_routing_policy(std::string_view name) {
  if (name.starts_with('{')) {
    Diagnostics diagnostics;
    ParamReader stated{ConfigNode::parse(name, "routing"), diagnostics};
    std::unique_ptr<RoutingPolicy> made = read_routing_policy(stated);
    diagnostics.throw_if_any();
    return made;
  }
  const Registration<RoutingPolicy>* registration = routing_policies().find(name);
  if (registration == nullptr)
    throw ConfigError(fmt::format("{}: {}", routing_policies().unknown(name), routing_policies().note(name)));
  return make_with_defaults(*registration);
}

}  // namespace weft::net
